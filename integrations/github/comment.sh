#!/usr/bin/env bash
# Writes the report to the job summary and to one comment on the pull request, which the first run creates and later runs
# update. A missing permission does not fail the job.
set -euo pipefail
# shellcheck source=integrations/github/lib.sh
. "$GITHUB_ACTION_PATH/integrations/github/lib.sh"

# GitHub's limits are 65,536 characters for a comment and 1 MiB for a summary.
most_of_comment=65536
most_of_summary=1000000

body=$work/comment.md
touch "$work/report.md" "$work/diff.md"
cat "$work/report.md" >"$work/all.md"
if [[ -s $work/report.md && -s $work/diff.md ]]; then echo >>"$work/all.md"; fi
cat "$work/diff.md" >>"$work/all.md"
[[ -s $work/all.md ]] || echo 'gpuc found no problems.' >"$work/all.md"
output report "$work/all.md"
head -c "$most_of_summary" "$work/all.md" >>"$GITHUB_STEP_SUMMARY"
echo >>"$GITHUB_STEP_SUMMARY"

give_up() {
  echo "::notice title=gpuc::$1; the job's summary contains its text"
  exit 0
}
if [[ $COMMENT != true || -z $PULL ]]; then exit 0; fi
[[ $PULL =~ ^[0-9]+$ ]] || give_up 'the pull request has no number'
[[ $COMMENT_KEY =~ ^[A-Za-z0-9-]+$ ]] || give_up "the input 'comment-key' must consist of letters, digits and hyphens"
command -v gh >/dev/null || give_up 'no comment was written, because this runner has no gh'

# The invisible marker identifies the comment.
export COMMENT_AUTHOR MARKER="<!-- gpuc:$COMMENT_KEY -->"
run="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"
characters() { LC_ALL=C.UTF-8 wc -m <"$1"; }
{ printf '%s\n' "$MARKER"; cat "$work/all.md"; } >"$body"
if [[ $(characters "$body") -gt $most_of_comment ]]; then
  # Keeps as many whole lines as fit from the top, without an unclosed block.
  {
    printf '%s\n' "$MARKER"
    awk -v most=$((most_of_comment - 1000)) '
      { line[NR] = $0; size += length($0) + 1 }
      /^ *```/ { drawn = !drawn }
      { folded += gsub(/<details/, "&") - gsub(/<\/details>/, "&") }
      !drawn && folded <= 0 && size <= most { last = NR }
      END { for (i = 1; i <= last; i++) print line[i] }' "$work/all.md"
    printf '\nThis comment is shortened: [the summary of the run](%s) contains the rest.\n' "$run"
  } >"$body"
fi

comments="repos/$GITHUB_REPOSITORY/issues/$PULL/comments"
mine='.[] | select(.user.login == env.COMMENT_AUTHOR and (.body | startswith(env.MARKER))) | .id'
if ! ids=$(gh api --paginate "$comments?per_page=100" --jq "$mine" 2>"$work/said"); then
  quote "$work/said"
  give_up 'the comments of this pull request cannot be read'
fi
id=${ids%%$'\n'*}
if [[ -n $id ]]; then
  said=$(gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body" --silent 2>&1) && exit 0
else
  said=$(gh api --method POST "$comments" -F "body=@$body" --silent 2>&1) && exit 0
fi
printf '%s\n' "$said" >"$work/said"
quote "$work/said"
give_up 'the token cannot write comments, as in a pull request from a fork'
