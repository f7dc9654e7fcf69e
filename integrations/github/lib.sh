# shellcheck shell=bash
# Functions of the action's steps, compatible with Bash 3.2 of macOS.

# The folder for files that steps exchange.
work=$RUNNER_TEMP/gpuc-action
mkdir -p "$work"

# Splits a text into its non-empty, trimmed lines, into `items`.
split() {
  local line
  items=()
  while IFS= read -r line || [[ -n $line ]]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    [[ -z $line ]] || items+=("$line")
  done <<<"$1"
}

# Sets an output of this step. Values have one line.
output() {
  printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"
}

# Prints a file with user text, so that the runner does not interpret any of it as a command.
quote() {
  local word
  [[ -s $1 ]] || return 0
  word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '::stop-commands::%s\n' "$word"
  cat "$1"
  printf '\n::%s::\n' "$word"
}

# Runs gpuc with annotations as output, prints those of the given levels, and returns gpuc's exit code.
annotate() {
  local begin=$1 code=0
  shift
  "$@" >"$work/annotations" 2>"$work/said" || code=$?
  grep -E "^::($begin) " "$work/annotations" || true
  quote "$work/said"
  return "$code"
}
