# shellcheck shell=bash
# What the scripts beside this file have in common. It is read by them; it does nothing by itself.
#
# A resource of the cloud is looked at, compared field by field with what the input of gpuc says, and then made or
# changed. Nothing is changed while any resource of the script has a difference that cannot be changed.

dry_run=
allow_disruption=
look_only=
number=0     # the resource that is looked at or changed
names=()     # by number: what the resource is called
defined=()   # by number: definitions in jq for programs on the resource
missing=()   # by number: `yes` when it is not there
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

# A command in one line that a shell reads as the same command.
shown() {
  local line
  printf -v line ' %q' "$@"
  printf '%s' "${line# }"
}

# resource_flags ABOUT FLAG…: the flags of a script that makes or changes resources.
resource_flags() {
  local usage
  usage="$1
usage: ${0##*/} [--look | --dry-run] [--allow-disruption]
  --look              only looks whether something stands against it, and changes nothing
  --dry-run           shows what would be run, and changes nothing
  --allow-disruption  makes changes too that drain nodes"
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --look) look_only=yes ;;
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
  say "error: ${0##*/} does not know $(shown "$1")"
  say "$2"
  exit 2
}

# tools NAME…: programs that must be there.
tools() {
  local tool absent
  absent=()
  for tool in "$@"; do
    command -v "$tool" >/dev/null 2>&1 || absent+=("$tool")
  done
  [ ${#absent[@]} -eq 0 ] || die "not installed: ${absent[*]}"
}

# identity WHAT WANT OTHERWISE COMMAND…: stops unless the command answers what is wanted.
identity() {
  local what=$1 want=$2 otherwise=$3 answer
  shift 3
  answer=$("$@") || die "the $what could not be asked for: $(shown "$@")" "$otherwise"
  [ "$answer" = "$want" ] || die "the $what is $(shown "$answer"), and not $(shown "$want")" "$otherwise"
}

# run COMMAND…: does what changes something, or only shows it.
run() {
  acted=yes
  if [ -n "$dry_run" ]; then
    printf '%s\n' "$(shown "$@")"
  else
    say "+ $(shown "$@")"
    "$@"
  fi
}

# define FILE: the file with definitions in jq for programs on the resource.
define() {
  defined[number]=$(cat "$1")
}

# observe NAME ABSENT COMMAND…: looks at a resource. It is not there when the command answers `null`, or fails and says
# ABSENT, an extended regular expression; any other failure stops the script.
observe() {
  local name=$1 pattern=$2 answer
  shift 2
  names[number]=$name
  missing[number]=
  differing[number]=$'\n'
  if "$@" >"$work/answer" 2>"$work/said"; then
    answer=$(jq -c . "$work/answer" 2>/dev/null) && [ -n "$answer" ] ||
      die "$name: what this command answers is not understood: $(shown "$@")"
  elif grep -Eq -- "$pattern" "$work/said"; then
    answer=null
  else
    cat "$work/said" >&2
    die "$name could not be looked at: $(shown "$@")"
  fi
  [ "$answer" != null ] || missing[number]=yes
  printf '%s\n' "$answer" >"$work/$number.json"
}

# field NAME CHANGE REASON WANT READ [OTHERS]: compares a field. WANT is JSON; READ is the jq program that reads the
# same from the resource. CHANGE says what becomes of a difference: changes, rolls, replaces or climbs, all but the
# first for a REASON; what climbs is a version that skips no minor version. OTHERS is the jq program that lists what
# others added to it, which stays.
field() {
  local name=$1 change=$2 reason=$3 want=$4 read=$5 others=${6-} difference next
  [ -z "${missing[number]}" ] || return 0
  if [ -n "$others" ] && [ -z "$look_only" ]; then
    others=$(jq -r --argjson want "$want" "${defined[number]-} [$others] | add // [] | join(\", \")" "$work/$number.json") ||
      die "${names[number]}: its $name could not be read"
    [ -z "$others" ] || say "${names[number]}: $name: not set by gpuc, and kept: $others"
  fi
  difference=$(
    jq -r --argjson want "$want" "${defined[number]-} [(
      $read
      )] | if . == [\$want] then \"\" else \"\(.[0] | tojson) -> \(\$want | tojson)\" end" "$work/$number.json"
  ) || die "${names[number]}: its $name could not be read"
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
      ) || die "${names[number]}: its $name could not be read"
      [ -z "$next" ] || skips+=("$difference" "  $reason: set kubernetes.version to $next first, build and run that")
      ;;
    *) ;;
  esac
  [ -n "$look_only" ] || say "$difference"
}

# observed WANT PROGRAM: what a jq program makes of the resource, with the wanted value of a field as $want.
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

# Stops before the script changes anything when something cannot be changed, or must not be without a word of the
# user's. A dry run only says so, and goes on to show the rest.
settle() {
  [ ${#skips[@]} -eq 0 ] ||
    stop 'this would skip a version of Kubernetes:' "${skips[@]}"
  [ ${#replacements[@]} -eq 0 ] ||
    stop 'this cannot be changed where it is; it would have to be made anew:' "${replacements[@]}"
  [ ${#disruptions[@]} -eq 0 ] || [ -n "$allow_disruption" ] ||
    stop 'this drains nodes, and is done only with --allow-disruption:' "${disruptions[@]}"
}

stop() {
  [ -n "$dry_run" ] || die "${0##*/} changed nothing: $1" "${@:2}"
  local line
  say "${0##*/} would stop here: $1"
  for line in "${@:2}"; do
    say "  $line"
  done
  stopped=yes
}

# would_come_with NAME ABSENT COMMAND…: whether this is a dry run, and what would make the resource together with itself
# is missing too.
would_come_with() {
  [ -n "$dry_run" ] || return 1
  local name=$1 pattern=$2
  shift 2
  if "$@" >/dev/null 2>"$work/said"; then
    return 1
  elif grep -Eq -- "$pattern" "$work/said"; then
    say "${names[number]}: comes with the $name"
    return 0
  fi
  cat "$work/said" >&2
  die "the $name could not be looked at: $(shown "$@")"
}

# Says that a resource is made.
begin_creation() {
  say "${names[number]}: is not there"
  created=yes
}

# carry_out COUNT: looks at every resource with look_1, look_2, …, then makes or changes each with make_1, make_2, ….
carry_out() {
  local count=$1
  for ((number = 1; number <= count; number++)); do
    "look_$number"
  done
  settle
  if [ -n "$look_only" ] || [ -n "$stopped" ]; then
    [ -z "$stopped" ] || exit 1
    return 0
  fi
  for ((number = 1; number <= count; number++)); do
    # What was made may have brought this one with it.
    if [ -n "$created" ] && [ -z "$dry_run" ] && is_missing; then
      "look_$number"
      settle
    fi
    "make_$number"
  done
  [ -n "$acted" ] || say 'nothing to do'
}

# take_down COUNT: deletes what is there with look_1 and delete_1, look_2 and delete_2, ….
take_down() {
  local count=$1
  for ((number = 1; number <= count; number++)); do
    "look_$number"
    if is_missing; then
      say "${names[number]}: is not there"
    else
      say "${names[number]}: is deleted"
      "delete_$number"
    fi
  done
  [ -n "$acted" ] || say 'nothing to do'
}
