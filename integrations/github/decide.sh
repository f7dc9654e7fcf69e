#!/usr/bin/env bash
# Ends as everything before did.
set -euo pipefail

case ${CHECKED:-none} in
  0) ;;
  1) echo "::error title=gpuc::the trees are not what gpuc builds: run 'gpuc build' and commit what it changes"; exit 1 ;;
  2) echo '::error title=gpuc::the input has errors'; exit 1 ;;
  *) echo '::error title=gpuc::gpuc could not run; the log of the step Check says why'; exit 1 ;;
esac
if [[ ${COMPARED:-0} != 0 ]]; then
  echo "::error title=gpuc::a change has the impact that the input 'fail-on' names, or more"
  exit 1
fi
