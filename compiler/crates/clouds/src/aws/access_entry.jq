# Ownership of the tags of an access entry. gpuc manages the tags in gpu-cluster.yaml, and the tags that gpuc.dev/tags
# records from earlier runs. It keeps all others.

def remembered($kind):
  [.accessEntry.tags // {} | to_entries[] | select(.key | test("^gpuc[.]dev/\($kind)(-[0-9]+)?$")).value
    | split(" ")[]];

# Escapes spaces in keys: spaces separate the recorded keys.
def escaped: split("=") | join("==") | split(" ") | join("=_");

def our_tags:
  remembered("tags") as $marks
  | .accessEntry.tags // {}
  | with_entries(select(.key
      | test("^gpuc[.]dev/tags(-[0-9]+)?$") or IN($want | keys[]) or (escaped | IN($marks[]))));

def their_tags:
  (.accessEntry.tags // {} | keys) - (our_tags | keys)
  | map(select(test("^(Name$|(aws|eks):|(gpuc[.]dev|(alpha[.])?eksctl[.]io|eksctl[.]cluster[.]k8s[.]io)/)") | not));

# The tags to remove; null if there are none.
def tags_left: (our_tags | keys) - ($want | keys) | if . == [] then null else . end;
