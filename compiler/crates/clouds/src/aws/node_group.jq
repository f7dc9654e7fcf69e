# Ownership of the labels, taints and tags of a node group. gpuc manages those in gpu-cluster.yaml, those with the prefix
# gpuc.dev/, and those that the tags gpuc.dev/labels, taints, tags and template record from earlier runs. It keeps all
# others.

def remembered($kind):
  [.nodegroup.tags // {} | to_entries[] | select(.key | test("^gpuc[.]dev/\($kind)(-[0-9]+)?$")).value | split(" ")[]];

def our_labels:
  remembered("labels") as $marks
  | .nodegroup.labels // {}
  | with_entries(select(.key | startswith("gpuc.dev/") or IN($want | keys[]) or IN($marks[])));

def their_labels:
  (.nodegroup.labels // {} | keys) - (our_labels | keys)
  | map(select(test("^(eks[.]amazonaws[.]com|alpha[.]eksctl[.]io)/") | not));

def labels_change: {addOrUpdateLabels: $want, removeLabels: ((our_labels | keys) - ($want | keys))};

# Key and effect identify a taint.
def taint: "\(.key):\(.effect)";

def our_taints:
  remembered("taints") as $marks
  | .nodegroup.taints // []
  | map(select(taint | startswith("gpuc.dev/") or IN($want[] | taint) or IN($marks[])))
  | map({key, value: (.value // ""), effect})
  | sort_by([.key, .effect]);

def their_taints: (.nodegroup.taints // [] | map(taint)) - (our_taints | map(taint));

def taints_change:
  {addOrUpdateTaints: $want, removeTaints: (our_taints | map(select(taint | IN($want[] | taint) | not)))};

# Escapes spaces in keys: spaces separate the recorded keys.
def escaped: split("=") | join("==") | split(" ") | join("=_");

def our_tags:
  remembered("tags") as $marks
  | .nodegroup.tags // {}
  | with_entries(select(.key
      | test("^gpuc[.]dev/(labels|taints|tags|template)(-[0-9]+)?$")
        or IN($want | keys[]) or (escaped | IN($marks[]))));

def their_tags:
  (.nodegroup.tags // {} | keys) - (our_tags | keys)
  | map(select(test("^(Name$|(aws|eks):|(gpuc[.]dev|(alpha[.])?eksctl[.]io|eksctl[.]cluster[.]k8s[.]io)/)")
      or test("^(k8s[.]io/cluster-autoscaler|kubernetes[.]io/cluster)/") | not));

# The tags to remove; null if there are none.
def tags_left: (our_tags | keys) - ($want | keys) | if . == [] then null else . end;

# The tags that describe a future node to the Cluster Autoscaler.
def template:
  .nodegroup.tags // {} | with_entries(select(.key | startswith("k8s.io/cluster-autoscaler/node-template/")));

def our_template:
  remembered("template") as $marks
  | template
  | with_entries(select(.key
      | IN($want | keys[])
        or (ltrimstr("k8s.io/cluster-autoscaler/node-template/")
            | test("^(label|taint)/gpuc[.]dev/") or IN($marks[]))));

def their_template: (template | keys) - (our_template | keys);

def template_left: (our_template | keys) - ($want | keys) | if . == [] then null else . end;

# Tags for the Auto Scaling groups of the node group.
def on_scaling_groups($tags):
  [.nodegroup.resources.autoScalingGroups[].name as $group
    | $tags[] | {ResourceId: $group, ResourceType: "auto-scaling-group"} + .];

def template_of_scaling_groups:
  on_scaling_groups($want | to_entries | map({Key: .key, Value: .value, PropagateAtLaunch: false}));

def template_left_on_scaling_groups:
  on_scaling_groups(template_left // [] | map({Key: .})) | if . == [] then null else . end;

# The limits and the number of nodes that a capacity block requires now, from the current ones. null after its nodes were
# deleted. Before the start, no nodes are required, and existing ones are kept: the start in the file may be wrong.
def block_size($block):
  if now < ($block.start | fromdate) then
    {minSize: 0, maxSize: $block.maxSize, desiredSize: ([.desiredSize, $block.maxSize] | min)}
  elif now < ($block.scaleDown | fromdate) then
    {minSize: $block.minSize, maxSize: $block.maxSize,
     desiredSize: ([([.desiredSize, $block.minSize] | max), $block.maxSize] | min)}
  else null end;

def fits_block($block): block_size($block) as $size | $size == null or $size == {minSize, maxSize, desiredSize};

def size_for_block($block): .nodegroup.scalingConfig | block_size($block) // {minSize, maxSize, desiredSize};
