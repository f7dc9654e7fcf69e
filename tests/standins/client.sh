#!/usr/bin/env bash
# A call of the fake whose name this script has. GPUC_STANDIN_SERVER is the port of a server (calls.py), if there is one.
set -eu
if [[ -n ${GPUC_STANDIN_SERVER-} ]]; then
  exec 9<>"/dev/tcp/127.0.0.1/$GPUC_STANDIN_SERVER"
  echo $$ >&9
  read -r -u 9 code # with `<&9`, standard input would be the connection
  exit "$code"
fi
exec python3 "$(dirname "$(realpath "$0")")" "${0##*/}" "$@"
