# Whose the labels are. gpuc's are those that gpu-cluster.yaml wants, and those that gpuc-labels remembers from earlier
# runs, by short hashes: a label's value has no room for keys. All others stay.

def mark:
  reduce explode[] as $c (0; (. * 257 + $c) % 1073741789)
  | [limit(6; recurse(. / 32 | floor)) | "abcdefghijklmnopqrstuvwxyz234567"[. % 32:. % 32 + 1]]
  | add;

def remembered($held; $name):
  [$held // {} | to_entries[] | select(.key | test("^\($name)(-[0-9]+)?$")).value | split("-")[]];

def flags: to_entries | map("\(.key)=\(.value)") | join(",");
