
# The same for node labels and taints, whose ownership records are the tags gpuc-labels and gpuc-taints. gpuc always
# owns those that begin with gpuc.dev/. AKS manages those that begin with kubernetes.azure.com/ and refuses them from
# other clients.

def labels: .nodeLabels // {} | with_entries(select(.key | startswith("kubernetes.azure.com/") | not));

def our_labels:
  remembered("labels"; ",") as $marks
  | labels
  | with_entries(select(.key | startswith("gpuc.dev/") or IN($want | keys[]) or IN($marks[])));

def their_labels: (labels | keys) - (our_labels | keys);

def all_labels:
  their_labels as $theirs
  | labels | with_entries(select(.key | IN($theirs[]))) + $want | to_entries | map("\(.key)=\(.value)");

# Key and effect identify a taint.
def taint: split(":") as [$rest, $effect] | "\($rest | split("=")[0]):\($effect)";

def taints: .nodeTaints // [] | map(select(startswith("kubernetes.azure.com/") | not));

def our_taints:
  remembered("taints"; ",") as $marks
  | taints
  | map(select(taint | startswith("gpuc.dev/") or IN($want[] | taint) or IN($marks[])))
  | sort;

def their_taints: taints - our_taints;

# az does not accept a taint without a value (azure-cli 2.91.0, acs/_validators.py).
def all_taints:
  (their_taints
    | map(if test("=[^:]") then .
          else error("az cannot write the taint \(.), which gpuc does not manage: give it a value, or remove it") end))
  + $want;
