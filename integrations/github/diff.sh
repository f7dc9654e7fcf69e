#!/usr/bin/env bash
# Compares a change with its base. It does not fail, because the report must be written first.
set -euo pipefail
# shellcheck source=integrations/github/lib.sh
. "$GITHUB_ACTION_PATH/integrations/github/lib.sh"

: >"$work/diff.md"
output code 0
if [[ -z $BASE ]]; then
  echo "there is no base: this is not a pull request, and the input 'base' is not set"
  exit 0
fi
# In a job with a container the checkout belongs to another user.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$PWD"
# A checkout has one commit by default.
commit() { git rev-parse --verify --quiet --end-of-options "$1^{commit}"; }
if ! base=$(commit "$BASE"); then
  if ! git fetch --quiet --no-tags --depth=1 -- origin "$BASE" 2>"$work/said" || ! base=$(commit FETCH_HEAD); then
    quote "$work/said"
    echo '::warning title=gpuc::the base is not in the checkout: use actions/checkout with fetch-depth 0'
    if [[ -n $FAIL_ON ]]; then output code 2; fi
    exit 0
  fi
fi
# The merge base, if known: later commits of the base are not part of the change.
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
  echo '::warning title=gpuc::the change could not be compared; the log of the step contains the reason'
else
  annotate 'error|warning|notice' compare --format=github || true
fi
# Without the input, no impact fails the job; with it, a failed comparison does.
if [[ -n $FAIL_ON ]]; then output code "$code"; fi
