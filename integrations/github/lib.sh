# shellcheck shell=bash
# What the steps of the action share. Bash 3.2 reads it, which is what macOS has.

# Where the steps leave things for each other.
work=$RUNNER_TEMP/gpuc-action
mkdir -p "$work"

# The lines of a text that are not empty, without space around them, into `items`.
split() {
  local line
  items=()
  while IFS= read -r line || [[ -n $line ]]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    [[ -z $line ]] || items+=("$line")
  done <<<"$1"
}

# Gives the workflow a value of this step. The values are one line each.
output() {
  printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"
}

# Prints a file that has words of users in it: the runner must not take any of them for a command.
quote() {
  local word
  [[ -s $1 ]] || return 0
  word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '::stop-commands::%s\n' "$word"
  cat "$1"
  printf '\n::%s::\n' "$word"
}

# Runs gpuc with findings as annotations, of which it prints those that begin as told, and ends as gpuc does.
annotate() {
  local begin=$1 code=0
  shift
  "$@" >"$work/annotations" 2>"$work/said" || code=$?
  grep -E "^::($begin) " "$work/annotations" || true
  quote "$work/said"
  return "$code"
}
