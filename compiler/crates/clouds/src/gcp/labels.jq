# Separates the labels of gpuc from externally managed ones. gpuc owns the labels that gpu-cluster.yaml sets, and those
# that gpuc-labels lists from earlier runs, as short hashes: a label value is too short for keys. All others stay
# unchanged.

def mark:
  reduce explode[] as $c (0; (. * 257 + $c) % 1073741789)
  | [limit(6; recurse(. / 32 | floor)) | "abcdefghijklmnopqrstuvwxyz234567"[. % 32:. % 32 + 1]]
  | add;

def remembered($held; $name):
  [$held // {} | to_entries[] | select(.key | test("^\($name)(-[0-9]+)?$")).value | split("-")[]];

def flags: to_entries | map("\(.key)=\(.value)") | join(",");
