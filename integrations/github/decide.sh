#!/usr/bin/env bash
# Ends as everything before did.
set -euo pipefail

case ${CHECKED:-none} in
  0) ;;
  1) echo "::error title=gpuc::the trees are not what gpuc builds: run 'gpuc build' and commit what it changes"; exit 1 ;;
  2) echo '::error title=gpuc::the input has errors'; exit 1 ;;
  *) echo '::error title=gpuc::gpuc could not run; the log of the step Check says why'; exit 1 ;;
esac
case ${COMPARED:-0} in
  0) ;;
  1) echo "::error title=gpuc::the change is as bad as the input 'fail-on' says, or worse"; exit 1 ;;
  *) echo "::error title=gpuc::the change could not be held against the input 'fail-on'"; exit 1 ;;
esac
