# shellcheck shell=bash
# Functions that the scripts in this folder share. The scripts source this file; it does nothing on its own.
#
# A script reads each resource, compares it field by field with the input of gpuc, and then creates or updates it.
# It changes nothing while any of its resources differs in an immutable field.

dry_run=
allow_disruption=
check_only=
number=0     # the current resource
names=()     # by number: kind and name of the resource
defined=()   # by number: jq definitions for programs on the resource
missing=()   # by number: `yes` if the resource does not exist
differing=() # by number: the fields that differ, each between line breaks
replacements=()
disruptions=()
skips=()
created=
acted=
stopped=

work=$(mktemp -d)
at_exit() { :; }
trap 'at_exit; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $1"
  shift
  local line
  for line in ${1+"$@"}; do
    say "  $line"
  done
  exit 1
}

# Prints a command on one line, quoted for the shell.
shown() {
  local line
  printf -v line ' %q' "$@"
  printf '%s' "${line# }"
}

# resource_flags ABOUT FLAG…: parses the flags of a script that creates or updates resources.
resource_flags() {
  local usage
  usage="$1
usage: ${0##*/} [--check | --dry-run] [--allow-disruption]
  --check             checks for differences that block the run, and changes nothing
  --dry-run           prints the commands without running them
  --allow-disruption  allows updates that drain nodes"
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --check) check_only=yes ;;
      --dry-run) dry_run=yes ;;
      --allow-disruption) allow_disruption=yes ;;
      --help | -h)
        printf '%s\n' "$usage"
        exit 0
        ;;
      *) unknown_flag "$1" "$usage" ;;
    esac
    shift
  done
}

unknown_flag() {
  say "error: unknown flag: $(shown "$1")"
  say "$2"
  exit 2
}

# tools NAME…: stops unless these programs are installed.
tools() {
  local tool absent
  absent=()
  for tool in "$@"; do
    command -v "$tool" >/dev/null 2>&1 || absent+=("$tool")
  done
  [ ${#absent[@]} -eq 0 ] || die "not installed: ${absent[*]}"
}

# identity WHAT WANT OTHERWISE COMMAND…: stops unless the command prints WANT.
identity() {
  local what=$1 want=$2 otherwise=$3 answer
  shift 3
  answer=$("$@") || die "cannot read the $what: command failed: $(shown "$@")" "$otherwise"
  [ "$answer" = "$want" ] || die "the $what is $(shown "$answer"), expected $(shown "$want")" "$otherwise"
}

# run COMMAND…: runs a command that changes something; a dry run only prints it.
run() {
  acted=yes
  if [ -n "$dry_run" ]; then
    printf '%s\n' "$(shown "$@")"
  else
    say "+ $(shown "$@")"
    "$@"
  fi
}

# define FILE: reads the jq definitions for programs on the resource.
define() {
  defined[number]=$(cat "$1")
}

# observe NAME ABSENT COMMAND…: reads a resource. It does not exist if the command prints `null`, or if it fails and
# its standard error matches ABSENT, an extended regular expression. Any other failure stops the script.
observe() {
  local name=$1 pattern=$2 answer
  shift 2
  names[number]=$name
  missing[number]=
  differing[number]=$'\n'
  if "$@" >"$work/answer" 2>"$work/said"; then
    answer=$(jq -c . "$work/answer" 2>/dev/null) && [ -n "$answer" ] ||
      die "$name: unexpected output of command: $(shown "$@")"
  elif grep -Eq -- "$pattern" "$work/said"; then
    answer=null
  else
    cat "$work/said" >&2
    die "$name: cannot be read: command failed: $(shown "$@")"
  fi
  [ "$answer" != null ] || missing[number]=yes
  printf '%s\n' "$answer" >"$work/$number.json"
}

# field NAME CHANGE REASON WANT READ [OTHERS]: compares a field. WANT is JSON; READ is the jq program that reads the
# current value from the resource. CHANGE is how a difference is handled: `changes` updates in place, `rolls` drains
# nodes, `replaces` requires replacement, `climbs` is a version that must not skip a minor version. REASON explains all
# but the first. OTHERS is the jq program that lists entries that gpuc does not manage; they are kept.
field() {
  local name=$1 change=$2 reason=$3 want=$4 read=$5 others=${6-} difference next
  [ -z "${missing[number]}" ] || return 0
  if [ -n "$others" ] && [ -z "$check_only" ]; then
    others=$(jq -r --argjson want "$want" "${defined[number]-} [$others] | add // [] | join(\", \")" "$work/$number.json") ||
      die "${names[number]}: $name: cannot be read"
    [ -z "$others" ] || say "${names[number]}: $name: not managed by gpuc, kept: $others"
  fi
  difference=$(
    jq -r --argjson want "$want" "${defined[number]-} [(
      $read
      )] | if . == [\$want] then \"\" else \"\(.[0] | tojson) -> \(\$want | tojson)\" end" "$work/$number.json"
  ) || die "${names[number]}: $name: cannot be read"
  [ -n "$difference" ] || return 0
  differing[number]+="$name"$'\n'
  difference="${names[number]}: $name: $difference"
  case $change in
    replaces) replacements+=("$difference" "  $reason") ;;
    rolls) disruptions+=("$difference" "  $reason") ;;
    climbs)
      next=$(
        jq -r --argjson want "$want" "${defined[number]-} [(
          $read
          )] | map(split(\".\")[1] | tonumber)[0] + 1
          | if . < (\$want | split(\".\")[1] | tonumber) then \"1.\(.)\" else \"\" end" "$work/$number.json"
      ) || die "${names[number]}: $name: cannot be read"
      [ -z "$next" ] ||
        skips+=("$difference" "  $reason: set kubernetes.version to $next, run gpuc build, then run this script")
      ;;
    *) ;;
  esac
  [ -n "$check_only" ] || say "$difference"
}

# observed WANT PROGRAM: runs a jq program on the resource, with the wanted value of a field as $want.
observed() {
  jq -r -c --argjson want "$1" "${defined[number]-} $2" "$work/$number.json"
}

is_missing() { [ -n "${missing[number]}" ]; }

differs() {
  case ${differing[number]} in
    *$'\n'"$1"$'\n'*) return 0 ;;
    *) return 1 ;;
  esac
}

# Stops before any change if a difference cannot be applied, or must not be applied without --allow-disruption. A dry
# run reports this and continues.
settle() {
  [ ${#skips[@]} -eq 0 ] ||
    stop 'cannot skip a minor version of Kubernetes:' "${skips[@]}"
  [ ${#replacements[@]} -eq 0 ] ||
    stop 'immutable: requires replacement:' "${replacements[@]}"
  [ ${#disruptions[@]} -eq 0 ] || [ -n "$allow_disruption" ] ||
    stop 'drains nodes: to allow this, add --allow-disruption:' "${disruptions[@]}"
}

stop() {
  [ -n "$dry_run" ] || die "${0##*/} made no changes: $1" "${@:2}"
  local line
  say "${0##*/} would stop: $1"
  for line in "${@:2}"; do
    say "  $line"
  done
  stopped=yes
}

# would_come_with NAME ABSENT COMMAND…: succeeds if this is a dry run and the resource NAME, whose creation also creates
# the current one, does not exist either.
would_come_with() {
  [ -n "$dry_run" ] || return 1
  local name=$1 pattern=$2
  shift 2
  if "$@" >/dev/null 2>"$work/said"; then
    return 1
  elif grep -Eq -- "$pattern" "$work/said"; then
    say "${names[number]}: created together with $name"
    return 0
  fi
  cat "$work/said" >&2
  die "$name: cannot be read: command failed: $(shown "$@")"
}

# Reports that the resource does not exist and is created.
begin_creation() {
  say "${names[number]}: not found"
  created=yes
}

# carry_out COUNT: reads every resource with look_1, look_2, …, then creates or updates each with make_1, make_2, ….
carry_out() {
  local count=$1
  for ((number = 1; number <= count; number++)); do
    "look_$number"
  done
  settle
  if [ -n "$check_only" ] || [ -n "$stopped" ]; then
    [ -z "$stopped" ] || exit 1
    return 0
  fi
  for ((number = 1; number <= count; number++)); do
    # A resource created above may have created this one too.
    if [ -n "$created" ] && [ -z "$dry_run" ] && is_missing; then
      "look_$number"
      settle
    fi
    "make_$number"
  done
  [ -n "$acted" ] || say 'nothing to do'
}

# take_down COUNT ACTION: deletes every existing resource with look_1 and delete_1, look_2 and delete_2, …. ACTION is the
# word for this in messages.
take_down() {
  local count=$1 action=$2
  for ((number = 1; number <= count; number++)); do
    "look_$number"
    if is_missing; then
      say "${names[number]}: not found"
    else
      say "${names[number]}: $action"
      "delete_$number"
    fi
  done
  [ -n "$acted" ] || say 'nothing to do'
}
