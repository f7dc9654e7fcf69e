# Whose the tags are. gpuc's are those that gpu-cluster.yaml wants, and those that the tag gpuc-tags remembers from
# earlier runs. All others stay. Azure takes tags for the same whose names differ only by case.

def remembered($kind; $separator):
  [.tags // {} | to_entries[] | select(.key | ascii_downcase | test("^gpuc-\($kind)(-[0-9]+)?$")).value
    | split($separator)[]];

def our_tags:
  (remembered("tags"; "/") | map(ascii_downcase)) as $marks
  | .tags // {}
  | with_entries(select(.key | ascii_downcase
      | test("^gpuc-(labels|taints|tags)(-[0-9]+)?$") or IN($want | keys[] | ascii_downcase) or IN($marks[])));

# The same, spelled as they are wanted.
def our_tags_spelled:
  our_tags
  | with_entries((.key | ascii_downcase) as $key
      | .key = (first($want | keys[] | select(ascii_downcase == $key)) // .key));

def their_tags:
  (.tags // {} | keys) - (our_tags | keys) | map(select(ascii_downcase | startswith("aks-managed-") | not));

# az writes the whole set, a word each, and takes an empty word for none. Some words it takes for something else
# (azure-cli 2.91.0, core/commands/validators.py).
def all_tags:
  (our_tags | keys) as $ours
  | .tags // {}
  | with_entries(select(.key | IN($ours[]) | not)
      | if .key | test("^[-@]|=")
        then error("az cannot write the tag \(.key), which others set: rename it, or remove it") else . end)
    + $want
  | to_entries | map("\(.key)=\(.value)") | if . == [] then [""] else . end;
