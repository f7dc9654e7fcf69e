# Separates the tags of gpuc from externally managed ones. gpuc owns the tags that gpu-cluster.yaml sets, and those that
# the tag gpuc-tags lists from earlier runs. All others stay unchanged. Tag names on Azure are case-insensitive.

def remembered($kind; $separator):
  [.tags // {} | to_entries[] | select(.key | ascii_downcase | test("^gpuc-\($kind)(-[0-9]+)?$")).value
    | split($separator)[]];

def our_tags:
  (remembered("tags"; "/") | map(ascii_downcase)) as $marks
  | .tags // {}
  | with_entries(select(.key | ascii_downcase
      | test("^gpuc-(labels|taints|tags)(-[0-9]+)?$") or IN($want | keys[] | ascii_downcase) or IN($marks[])));

# The same tags, with their names spelled as in gpu-cluster.yaml.
def our_tags_spelled:
  our_tags
  | with_entries((.key | ascii_downcase) as $key
      | .key = (first($want | keys[] | select(ascii_downcase == $key)) // .key));

def their_tags:
  (.tags // {} | keys) - (our_tags | keys) | map(select(ascii_downcase | startswith("aks-managed-") | not));

# az replaces the whole set and expects one word per tag; an empty word means no tags. az does not parse some names as
# tags (azure-cli 2.91.0, core/commands/validators.py).
def all_tags:
  (our_tags | keys) as $ours
  | .tags // {}
  | with_entries(select(.key | IN($ours[]) | not)
      | if .key | test("^[-@]|=")
        then error("az cannot write the tag \(.key), which gpuc does not manage: rename it, or remove it") else . end)
    + $want
  | to_entries | map("\(.key)=\(.value)") | if . == [] then [""] else . end;
