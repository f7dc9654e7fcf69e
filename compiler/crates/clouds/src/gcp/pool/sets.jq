
def our_resource_labels:
  remembered(.config.resourceLabels; "gpuc-labels") as $marks
  | .config.resourceLabels // {}
  | with_entries(select(.key
      | test("^gpuc-labels(-[0-9]+)?$") or IN($want | keys[]) or (mark | IN($marks[]))));

# The ownership records alone never drain nodes: if they lack a label, it stays when it is removed from
# gpu-cluster.yaml.
def our_resource_labels_or_wanted:
  def plain: with_entries(select(.key | startswith("gpuc-labels") | not));
  our_resource_labels | if plain == ($want | plain) then $want else . end;

def their_resource_labels:
  (.config.resourceLabels // {} | keys) - (our_resource_labels | keys)
  | map(select(startswith("goog-") | not));

# gcloud replaces the whole set; GKE keeps its own labels.
def all_resource_labels:
  their_resource_labels as $theirs
  | .config.resourceLabels // {} | with_entries(select(.key | IN($theirs[]))) + $want | "--labels=" + flags;

# The ownership records for node labels and taints are node labels, because changing a resource label would drain the
# nodes. gpuc always owns those that begin with gpuc.dev/.
def our_labels:
  remembered(.config.labels; "gpuc[.]dev/labels") as $marks
  | .config.labels // {}
  | with_entries(select(.key | startswith("gpuc.dev/") or IN($want | keys[]) or (mark | IN($marks[]))));

def their_labels: (.config.labels // {} | keys) - (our_labels | keys);

def all_labels:
  their_labels as $theirs
  | .config.labels // {} | with_entries(select(.key | IN($theirs[]))) + $want | "--node-labels=" + flags;

# Key and effect identify a taint. Taints that GKE sets are listed among the others.
def taint: "\(.key):\(.effect)";

def taints:
  .config.taints // []
  | map({key, value: (.value // ""), effect}
      | select(.effect != "NO_SCHEDULE"
          or (.key != "kubernetes.io/arch" and .key != "cloud.google.com/gke-queued"
            and (.key != "nvidia.com/gpu" or .value != "present"))));

def our_taints:
  remembered(.config.labels; "gpuc[.]dev/taints") as $marks
  | taints
  | map(select(taint | startswith("gpuc.dev/") or IN($want[] | taint) or (mark | IN($marks[]))))
  | sort_by([.key, .effect]);

def their_taints: (taints | map(taint)) - (our_taints | map(taint));

# The whole set, including the taints that GKE sets. gcloud identifies a taint by its key alone.
def all_taints($automatic):
  taints - our_taints + $want + $automatic
  | (group_by(.key) | map(select(length > 1) | .[0].key) | .[0]) as $twice
  | if $twice then error("gcloud cannot write two taints with the key \($twice): remove the one that gpuc does not manage")
    else . end
  | {NO_SCHEDULE: "NoSchedule", PREFER_NO_SCHEDULE: "PreferNoSchedule", NO_EXECUTE: "NoExecute"} as $words
  | "--node-taints=" + (map("\(.key)=\(.value):\($words[.effect])") | join(","));
