
def our_labels:
  remembered(.resourceLabels; "gpuc-labels") as $marks
  | .resourceLabels // {}
  | with_entries(select(.key
      | test("^gpuc-labels(-[0-9]+)?$") or IN($want | keys[]) or (mark | IN($marks[]))));

def their_labels:
  (.resourceLabels // {} | keys) - (our_labels | keys) | map(select(startswith("goog-") | not));

# gcloud sends only the labels of this flag, and GKE replaces the whole set with them (api_adapter.py). The flag cannot
# express an empty set.
def all_labels:
  (our_labels | keys) as $ours
  | .resourceLabels // {}
  | with_entries(select(.key | IN($ours[]) | not)) + $want
  | if . == {} then "--remove-labels=" + ($ours | join(",")) else "--update-labels=" + flags end;
