
def our_labels:
  remembered(.resourceLabels; "gpuc-labels") as $marks
  | .resourceLabels // {}
  | with_entries(select(.key
      | test("^gpuc-labels(-[0-9]+)?$") or IN($want | keys[]) or (mark | IN($marks[]))));

def their_labels:
  (.resourceLabels // {} | keys) - (our_labels | keys) | map(select(startswith("goog-") | not));

# gcloud sends the labels of this flag alone, and GKE takes them for the whole set (api_adapter.py). An empty set cannot
# be said so.
def all_labels:
  (our_labels | keys) as $ours
  | .resourceLabels // {}
  | with_entries(select(.key | IN($ours[]) | not)) + $want
  | if . == {} then "--remove-labels=" + ($ours | join(",")) else "--update-labels=" + flags end;
