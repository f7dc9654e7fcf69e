# Whose the tags of a cluster are. gpuc's are those that gpu-cluster.yaml wants, and those that the tag gpuc.dev/tags
# remembers from earlier runs. All others stay.

def remembered($kind):
  [.cluster.tags // {} | to_entries[] | select(.key | test("^gpuc[.]dev/\($kind)(-[0-9]+)?$")).value | split(" ")[]];

# Keys may have blanks, which are between those that are remembered.
def escaped: split("=") | join("==") | split(" ") | join("=_");

def our_tags:
  remembered("tags") as $marks
  | .cluster.tags // {}
  | with_entries(select(.key
      | test("^gpuc[.]dev/tags(-[0-9]+)?$") or IN($want | keys[]) or (escaped | IN($marks[]))));

def their_tags:
  (.cluster.tags // {} | keys) - (our_tags | keys)
  | map(select(test("^(Name$|(aws|eks):|(gpuc[.]dev|(alpha[.])?eksctl[.]io|eksctl[.]cluster[.]k8s[.]io)/)") | not));

# What to remove; null without anything.
def tags_left: (our_tags | keys) - ($want | keys) | if . == [] then null else . end;
