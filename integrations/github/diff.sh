#!/usr/bin/env bash
# Says what a change does, against where it goes. It does not fail: the report has to come first.
set -euo pipefail
# shellcheck source=integrations/github/lib.sh
. "$GITHUB_ACTION_PATH/integrations/github/lib.sh"

: >"$work/diff.md"
output code 0
if [[ -z $BASE ]]; then
  echo "there is nothing to compare with: this is no pull request, and the input 'base' names nothing"
  exit 0
fi
# In a job with a container the checkout belongs to another user.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$PWD"
# A checkout has one commit unless it is told otherwise.
commit() { git rev-parse --verify --quiet --end-of-options "$1^{commit}"; }
if ! base=$(commit "$BASE"); then
  if ! git fetch --quiet --no-tags --depth=1 -- origin "$BASE" 2>"$work/said" || ! base=$(commit FETCH_HEAD); then
    quote "$work/said"
    echo '::warning title=gpuc::what the change is compared with is not in the checkout: use actions/checkout with fetch-depth 0'
    if [[ -n $FAIL_ON ]]; then output code 2; fi
    exit 0
  fi
fi
# Where both went apart, if that is known: what came to the base since then is no part of the change.
if fork=$(git merge-base "$base" HEAD 2>/dev/null); then base=$fork; fi

arguments=("--base=$base" "--out=$OUT")
[[ -z $FAIL_ON ]] || arguments+=("--fail-on=$FAIL_ON")
split "$PATHS"
compare() { "$GPUC" diff "${arguments[@]}" "$@" -- ${items[@]+"${items[@]}"}; }

code=0
compare --format=markdown >"$work/diff.md" 2>"$work/said" || code=$?
quote "$work/said"
if [[ $code -gt 1 ]]; then
  : >"$work/diff.md"
  echo '::warning title=gpuc::the change could not be compared; the log of the step says why'
else
  annotate 'error|warning|notice' compare --format=github || true
fi
# Without the input nothing is bad enough; with it, what could not be judged does not pass.
if [[ -n $FAIL_ON ]]; then output code "$code"; fi
