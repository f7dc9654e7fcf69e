#!/usr/bin/env bash
# Exits with the result of the previous steps.
set -euo pipefail

case ${CHECKED:-none} in
  0) ;;
  1) echo "::error title=gpuc::the trees are out of date: run 'gpuc build' and commit the changes"; exit 1 ;;
  2) echo '::error title=gpuc::the input has errors'; exit 1 ;;
  *) echo '::error title=gpuc::gpuc could not run; the log of the step Check contains the reason'; exit 1 ;;
esac
case ${COMPARED:-0} in
  0) ;;
  1) echo "::error title=gpuc::the change has the impact of the input 'fail-on', or a more severe one"; exit 1 ;;
  *) echo "::error title=gpuc::the change could not be compared with the input 'fail-on'"; exit 1 ;;
esac
