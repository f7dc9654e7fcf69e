#!/usr/bin/env bash
# Checks clusters, manifests and trees. Writes annotations, a SARIF document, the report and the exit code. It does not fail,
# because the following steps must run.
set -euo pipefail
# shellcheck source=integrations/github/lib.sh
. "$GITHUB_ACTION_PATH/integrations/github/lib.sh"

input=()
split "$DENY"
for word in ${items[@]+"${items[@]}"}; do input+=("--deny=$word"); done
held=()
split "$MANIFESTS"
for path in ${items[@]+"${items[@]}"}; do held+=("--manifests=$path"); done
[[ -z $CLUSTER ]] || held+=("--cluster=$CLUSTER")
split "$PATHS"
check() { "$GPUC" check ${input[@]+"${input[@]}"} ${held[@]+"${held[@]}"} "$@" -- ${items[@]+"${items[@]}"}; }
build() { "$GPUC" build --check "--out=$OUT" ${input[@]+"${input[@]}"} "$@" -- ${items[@]+"${items[@]}"}; }

: >"$work/report.md"
code=0
annotate 'error|warning' check --format=github || code=$?
check --format=sarif >"$work/gpuc.sarif" 2>/dev/null || true
if [[ -s $work/gpuc.sarif ]]; then output sarif "$work/gpuc.sarif"; fi
check --format=markdown >"$work/findings.md" 2>/dev/null || true
if [[ $(cat "$work/findings.md") != 'No findings.' ]]; then
  printf '### Findings\n\n' >>"$work/report.md"
  if [[ -s $work/findings.md ]]; then cat "$work/findings.md"; else echo 'gpuc could not run; the log contains the reason.'; fi \
    >>"$work/report.md"
fi

if [[ $code == 0 && $TREE == true ]]; then
  # Warnings are annotated already.
  annotate error build --format=github || code=$?
  if [[ $code == 1 ]]; then
    {
      printf '### The trees are out of date\n\nRun gpuc build and commit the changes.\n\n'
      build --format=text 2>/dev/null | sed 's/^/    /' || true
    } >>"$work/report.md"
  fi
fi
output code "$code"
