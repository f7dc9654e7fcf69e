# shellcheck shell=bash disable=SC2016 # text in single quotes is not shell code
# Functions that the scripts in this folder share. The scripts source this file; it does nothing on its own.
#
# A script reads each resource, waits while the cloud changes it, compares it field by field with the input of gpuc, and
# then creates or updates it. It changes nothing while any of its resources differs in an immutable field or has failed.
#
# GPUC_POLL_SECONDS is the pause between two reads of a resource that is in progress, 15 by default.

dry_run=
allow_disruption=
adopt=
check_only=
verify_only=
number=0     # the current resource
names=()     # by number: kind and name of the resource
defined=()   # by number: jq definitions for programs on the resource
missing=()   # by number: `yes` if the resource does not exist
states=()    # by number: ready, progressing, degraded, failed, deleting or recoverable
statuses=()  # by number: the state in the words of the cloud
stateful=()  # by number: `yes` if the resource has a state
remnants=()  # by number: what exists although the resource does not
unowned=()   # by number: the tags that are missing to show that it is a remnant of these scripts
differing=() # by number: the fields that differ, each between line breaks
desired=()   # by number: the value that `lookup` has read, as JSON
fields=()    # the fields to compare, with how a difference is handled, and why
changes=()
reasons=()
wants=''     # their values in the input of gpuc, as JSON
programs=''  # the jq programs that compare them
replacements=()
disruptions=()
skips=()
failed_resources=()
failure=()
explaining=
hint= # what to do if the next command fails
unmarked=() # resources that do not have the mark of these scripts
protected=() # resources that the cloud refuses to delete
foreign=()  # what the deletion of a resource deletes as well, although no script creates it
delete_other_pools=
absent=() # resources that no script creates
created=
acted=
stopped=
changed= # how the messages name a stop after the first change

poll_seconds=${GPUC_POLL_SECONDS:-15}
timeout_minutes=   # from --timeout
timeouts=()        # by number: the minutes after which a script stops waiting for the resource
update=            # the id of the update that run_update started
state_program=     # the jq program that reads the state of the next resource
update_program=    # the jq program that reads the state of an update
patterns=()        # known errors: a regular expression
responses=()       # known errors: retry, await or explain
advice=()          # known errors: a message
export AWS_PAGER='' # the pager of the AWS CLI waits for a key

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
usage: ${0##*/} [--check | --verify | --dry-run] [--allow-disruption] [--adopt] [--timeout MINUTES]
  --check             checks for differences and failures that block the run, and changes nothing
  --verify            fails unless every resource exists and is ready, reports differences, and changes nothing
  --dry-run           prints the commands without running them
  --allow-disruption  allows updates that drain nodes
  --adopt             manages existing resources that others created; teardown.sh then deletes them as well
  --timeout MINUTES   stops waiting for a resource after this time; the default depends on the kind of resource"
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --check) check_only=yes ;;
      --verify) check_only=yes verify_only=yes ;;
      --dry-run) dry_run=yes ;;
      --allow-disruption) allow_disruption=yes ;;
      --adopt) adopt=yes ;;
      --timeout)
        minutes_flag "${2-}"
        shift
        ;;
      --help | -h)
        printf '%s\n' "$usage"
        exit 0
        ;;
      *) unknown_flag "$1" "$usage" ;;
    esac
    shift
  done
  [ -z "$dry_run" ] || [ -z "$check_only" ] || {
    say 'error: --dry-run cannot be used with --check or --verify'
    exit 2
  }
}

# minutes_flag VALUE: reads the value of --timeout.
minutes_flag() {
  case $1 in
    '' | *[!0-9]* | ??????*) die 'invalid value for --timeout: expected a number of minutes' ;;
    *) timeout_minutes=$((10#$1)) ;;
  esac
}

unknown_flag() {
  say "error: unknown flag: $(shown "$1")"
  say "$2"
  exit 2
}

# tools NAME…: stops unless these programs are installed.
tools() {
  local tool absent
  # The calling script has checked them.
  [ -z "${GPUC_TOOLS_CHECKED-}" ] || return 0
  absent=()
  for tool in "$@"; do
    command -v "$tool" >/dev/null 2>&1 || absent+=("$tool")
  done
  [ ${#absent[@]} -eq 0 ] || die "not installed: ${absent[*]}"
}

# tool_version NAME MINIMUMS PREFIX ARGUMENT…: stops if the version that this program prints after PREFIX on its first line
# is too old. MINIMUMS has the oldest version for each supported major version, in ascending order.
tool_version() {
  local name=$1 minimums=$2 prefix=$3 line found minimum
  shift 3
  [ -z "${GPUC_TOOLS_CHECKED-}" ] || return 0
  "$name" "$@" >"$work/answer" 2>"$work/said" || {
    cat "$work/said" >&2
    die "cannot read the version of $name" "$(shown "$name" "$@")"
  }
  line=$(head -n 1 "$work/answer")
  [[ $line == "$prefix"* && ${line#"$prefix"} =~ ^[0-9]{1,9}(\.[0-9]{1,9})+ ]] ||
    die "unexpected output of command: $(shown "$name" "$@")" "$line"
  found=${BASH_REMATCH[0]}
  for minimum in $minimums; do
    [ "${minimum%%.*}" -ge "${found%%.*}" ] || continue
    is_newer_or_equal "$found" "$minimum" ||
      die "$name $found is too old: these scripts need version $minimum or newer"
    return 0
  done
}

# is_newer_or_equal ONE OTHER: compares two versions of numbers with dots.
is_newer_or_equal() {
  local one=$1. other=$2.
  while [ -n "$other" ]; do
    [ "$((10#0${one%%.*}))" -le "$((10#${other%%.*}))" ] || return 0
    [ "$((10#0${one%%.*}))" -eq "$((10#${other%%.*}))" ] || return 1
    one=${one#*.} other=${other#*.}
  done
}

# known_error RESPONSE PATTERN MESSAGE: adds an error of the cloud's tools. `retry` repeats the command, `await` waits for
# the resource, `explain` stops with the message.
known_error() {
  responses+=("$1")
  patterns+=("$2")
  advice+=("$3")
}

# Sets $response and $message to those of the first known error in $work/said.
recognize() {
  local index
  response='' message=''
  for ((index = 0; index < ${#patterns[@]}; index++)); do
    if grep -Eiq -- "${patterns[index]}" "$work/said"; then
      response=${responses[index]} message=${advice[index]}
      return 0
    fi
  done
}

# Prints when to stop waiting, in seconds of this script.
deadline() {
  printf '%s\n' $((SECONDS + 60 * ${timeout_minutes:-${timeouts[number]:-60}}))
}

# pause_until END PAUSE: waits before a command is repeated, unless it is too late.
pause_until() {
  [ "$SECONDS" -lt "$1" ] || return 1
  say "$message: trying again in $2 s"
  sleep "$2"
}

# longer SECONDS: prints the pause after this one.
longer() {
  local next=$(($1 * 2))
  [ "$next" -le 120 ] || next=120
  printf '%s\n' "$next"
}

# query COMMAND…: runs a command that reads something: its output is in $work/answer, its errors are in $work/said.
# Repeats it after errors that pass. Fails if the command fails.
query() {
  local end pause=$poll_seconds
  end=$(deadline)
  until "$@" >"$work/answer" 2>"$work/said"; do
    recognize
    [ "$response" = retry ] && pause_until "$end" "$pause" || return 1
    pause=$(longer "$pause")
  done
}

# unreadable TEXT COMMAND…: stops after a command that reads something failed.
unreadable() {
  local text=$1
  shift
  cat "$work/said" >&2
  recognize
  die "$text: command failed: $(shown "$@")" ${message:+"$message"} ${hint:+"$hint"}
}

# identity WHAT WANT OTHERWISE COMMAND…: stops unless the command prints WANT.
identity() {
  local what=$1 want=$2 otherwise=$3 answer
  shift 3
  if ! query "$@"; then
    hint=$otherwise
    unreadable "cannot read the $what" "$@"
  fi
  answer=$(cat "$work/answer")
  [ "$answer" = "$want" ] || die "the $what is $(shown "$answer"), expected $(shown "$want")" "$otherwise"
}

# run COMMAND…: runs a command that changes something; a dry run only prints it. Its errors are shown, and in
# $work/said. Repeats it after errors that pass, and stops after any other error.
run() {
  acted=yes
  if [ -n "$dry_run" ]; then
    printf '%s\n' "$(shown "$@")"
    return 0
  fi
  say "+ $(shown "$@")"
  changed='stopped before the next change'
  local end pause=$poll_seconds code
  end=$(deadline)
  while :; do
    code=0
    # eksctl prints its log on standard output.
    case $1 in
      eksctl) "$@" 2>&1 | tee "$work/said" >&2 || code=$? ;;
      # kubectl advises to turn the validation off if the server does not answer, which does not help.
      kubectl)
        { "$@" 2>&1 >&3 3>&- | sed 's/; if you choose to ignore these errors, turn validation off.*//' |
          tee "$work/said" >&2; } 3>&1 || code=$?
        ;;
      *) { "$@" 2>&1 >&3 3>&- | tee "$work/said" >&2; } 3>&1 || code=$? ;;
    esac
    [ "$code" -ne 0 ] || return 0
    recognize
    case $response in
      retry) pause_until "$end" "$pause" || die "$message: stopped trying after $(minutes): $(shown "$@")" ;;
      await)
        say "$message"
        return 0
        ;;
      *) break ;;
    esac
    pause=$(longer "$pause")
  done
  say "error: command failed: $(shown "$@")"
  [ -z "$message" ] || say "  $message"
  explain_failure
  exit 1
}

# Prints the timeout.
minutes() {
  printf '%s minutes' "${timeout_minutes:-${timeouts[number]:-60}}"
}

# run_update COMMAND…: runs a command that starts an update, and keeps its output for await_update.
run_update() {
  if [ -n "$dry_run" ]; then
    run "$@"
    return 0
  fi
  run "$@" >"$work/update.json"
  update=$(jq -er .update.id "$work/update.json") || die "no update id in the output of command: $(shown "$@")"
}

# await_update COMMAND…: reads the update that run_update started until it ends. Stops if it fails.
await_update() {
  [ -z "$dry_run" ] || return 0
  local end last='' status
  end=$(deadline)
  while :; do
    query "$@" || unreadable "${names[number]}: cannot read update $update" "$@"
    read_answer "${names[number]}: update $update" "$update_program" "$@"
    [ "$answer" != null ] || die "${names[number]}: update $update: unexpected output of command: $(shown "$@")"
    case $state in
      ready) return 0 ;;
      progressing) ;;
      *) die "${names[number]}: update $update: $status" ${messages[@]+"${messages[@]}"} \
        'remove the cause, then run this script again' ;;
    esac
    wait_for "${names[number]}: update $update" "$end"
  done
}

# wait_for WHAT END: reports the progress of WHAT, whose status is $status, and waits until the next read.
wait_for() {
  [ "$SECONDS" -lt "$2" ] ||
    die "$1: still $status after $(minutes)" \
      'the cloud continues: run this script again to continue waiting, with --timeout MINUTES to wait longer'
  [ "$last" = "$status" ] || say "$1: $status: waiting, for at most $(minutes)"
  last=$status
  sleep "$poll_seconds"
}

# read_answer WHAT PROGRAM COMMAND…: sets $answer to the JSON of $work/answer, the output of COMMAND, on one line.
# PROGRAM is the jq program that reads the state of WHAT, or empty. Sets $state, $status and $messages.
read_answer() {
  local what=$1 program=${2:-empty} line is_readable=yes
  shift 2
  jq -r "${defined[number]-}"'
    if . == null then "null" else tojson, (
    '"$program"'
    | .state, .status, .messages[] | tostring | gsub("[[:cntrl:]]+"; " ")) end' \
    "$work/answer" >"$work/lines" 2>"$work/said" || is_readable=
  messages=()
  {
    IFS= read -r answer || is_readable=
    IFS= read -r state || state=''
    IFS= read -r status || status=''
    while IFS= read -r line; do messages+=("$line"); done
  } <"$work/lines"
  if [ -z "$is_readable" ]; then
    cat "$work/said" >&2
    [ -n "$answer" ] || die "$what: unexpected output of command: $(shown "$@")"
    die "$what: the state cannot be read from the output of command: $(shown "$@")"
  fi
}

# define FILE: reads the jq definitions for programs on the resource.
define() {
  defined[number]=$(cat "$1")
}

# state MINUTES PROGRAM: sets the jq program that reads the state of the resource that `observe` reads next.
state() {
  timeouts[number]=$1
  state_program=$2
}

# observe NAME ABSENT COMMAND…: reads a resource. It does not exist if the command prints `null`, or if it fails and
# its standard error matches ABSENT, an extended regular expression. Any other failure stops the script.
observe() {
  local name=$1 program=$state_program
  shift
  names[number]=$name
  missing[number]=
  states[number]=ready
  statuses[number]=
  stateful[number]=${program:+yes}
  remnants[number]=
  unowned[number]=
  messages=()
  differing[number]=$'\n'
  state_program=
  if read_json "$name" "$program" "$@"; then
    printf '%s\n' "$answer" >"$work/$number.json"
    states[number]=${state:-ready} statuses[number]=$status
  else
    printf 'null\n' >"$work/$number.json"
    missing[number]=yes
  fi
}

# read_json NAME PROGRAM ABSENT COMMAND…: reads something as JSON, and its state with PROGRAM, like read_answer. Fails if
# it does not exist.
read_json() {
  local name=$1 program=$2 pattern=$3
  shift 3
  if query "$@"; then
    read_answer "$name" "$program" "$@"
    [ "$answer" != null ]
  elif grep -Eq -- "$pattern" "$work/said"; then
    return 1
  else
    unreadable "$name: cannot be read" "$@"
  fi
}

# remnant NAME MINUTES PROGRAM TAGS WANTED ABSENT COMMAND…: reads what may exist although the resource does not. TAGS is
# the jq program that outputs its tags, as an object. It is a remnant of these scripts if it has the tags of WANTED.
remnant() {
  [ -n "${missing[number]}" ] || return 0
  local name=$1 program=$3 tags=$4 wanted=$5
  [ -n "${timeouts[number]-}" ] || timeouts[number]=$2
  shift 5
  read_json "$name" "$program" "$@" || return 0
  states[number]=$state statuses[number]=$status remnants[number]=$name
  unowned[number]=$(jq -r --argjson wanted "$wanted" \
    "($tags) as \$tags | "'[$wanted | to_entries[] | select($tags[.key] != .value) | "\(.key)=\(.value)"] | join(", ")' \
    <<<"$answer" 2>"$work/said") ||
    die "$name: the tags cannot be read from the output of command: $(shown "${@:2}")"
}

# recover COMMAND…, recover_safely COMMAND…: one command of a recovery. The script runs only safe ones.
recover() {
  recovery+=("  $(shown "$@")")
  [ -z "$recovering" ] || die "${names[number]}: this recovery needs a decision of the user"
}
recover_safely() {
  if [ -n "$recovering" ]; then
    run "$@"
  else
    recovery+=("  $(shown "$@")")
    is_safe=yes
  fi
}

# Reads the resource of this number, and waits while the cloud changes it, unless this run changes nothing. Collects a
# failure.
await_stable() {
  local end='' last='' what
  failure=()
  while :; do
    "read_$number"
    what=${remnants[number]:-${names[number]}}
    case ${states[number]} in
      progressing | deleting) ;;
      *) break ;;
    esac
    if [ -n "$verify_only" ]; then
      failed_resources+=("$what: $status")
      [ "${states[number]}" != deleting ] || missing[number]=yes
      return 0
    fi
    if [ -n "$check_only$dry_run" ]; then
      say "$what: $status: a run waits until this has ended"
      [ "${states[number]}" != deleting ] || missing[number]=yes
      return 0
    fi
    [ -n "$end" ] || end=$(deadline)
    wait_for "$what" "$end"
  done
  case ${states[number]} in
    ready)
      report "$what: warning: "
      if [ -n "$verify_only" ] && is_missing; then
        failed_resources+=("$what: not found")
      fi
      ;;
    *)
      describe_failure
      if [ -n "$verify_only" ]; then
        failed_resources+=("${failure[@]}")
        return 0
      fi
      case ${states[number]} in
        recoverable) [ -n "$check_only" ] || say_lines "${failure[@]}" ;;
        failed) failed_resources+=("${failure[@]}") ;;
        *) [ -z "$check_only$dry_run" ] || say_lines "${failure[@]}" ;;
      esac
      ;;
  esac
}

# Sets $failure to a description of the failure of the resource of this number, with the way to recover from it. A state
# from which the script itself can recover becomes `recoverable`.
describe_failure() {
  local line
  recovery=() is_safe='' recovering=''
  failure=("${remnants[number]:-${names[number]}}: ${statuses[number]}")
  for line in ${messages[@]+"${messages[@]}"}; do
    failure+=("  $line")
  done
  if [ -n "${remnants[number]}" ]; then
    while IFS= read -r line; do
      [ -z "$line" ] || failure+=("  $line")
    done < <("explain_$number" 2>/dev/null | tr '\t' '\n' | head -n 5)
  fi
  [ -z "${remnants[number]}" ] || failure+=("  ${names[number]}: not found, although this exists")
  if [ -n "${unowned[number]}" ]; then
    failure+=("others created it: it does not have the tags ${unowned[number]}"
      'use another name in the input of gpuc, or let them delete it, then run this script again')
    return 0
  fi
  call_recovery
  if [ -n "$is_safe" ]; then
    states[number]=recoverable
  elif [ ${#recovery[@]} -gt 0 ]; then
    failure+=('remove the cause, run these commands, then run this script again:' "${recovery[@]}")
  else
    failure+=('remove the cause, then run this script again')
  fi
}

# report PREFIX: prints the messages of the state.
report() {
  local line
  for line in ${messages[@]+"${messages[@]}"}; do
    say "$1$line"
  done
}

say_lines() {
  local line
  for line in "$@"; do
    say "$line"
  done
}

# Runs a safe recovery of the resource of this number, if it needs one. It does not exist afterwards, or is ready.
recover_state() {
  [ "${states[number]}" = recoverable ] || return 0
  run_recovery
  [ -z "$dry_run" ] || return 0
  "compare_$number"
  settle
}

# Runs the recovery of the resource of this number.
run_recovery() {
  recovery=() recovering=yes
  call_recovery
  recovering=
}

# Calls the function with the recoveries of the resource of this number. A status of what exists in its place has a
# prefix.
call_recovery() {
  "recovery_$number" "${remnants[number]:+remnant:}${statuses[number]}"
}

# Stops unless the resource of this number is ready, after it was created or updated.
require_ready() {
  [ -z "$dry_run" ] && [ -n "${stateful[number]}" ] || return 0
  await_stable
  case ${states[number]} in
    ready) is_missing || return 0 ;;
    *) die 'failed in the cloud:' "${failure[@]}" ;;
  esac
  die "${names[number]}: not found after the commands above"
}

# set_after_creation FIELD…: reports, in a dry run, the fields that complete_creation sets.
set_after_creation() {
  [ -z "$dry_run" ] || say "${names[number]}: set after the creation: $(listed "$@")"
}

# Completes the resource of this number, which this script created. Stops if it differs from the request in a field that
# only a replacement changes: a cloud may omit such a setting with no more than a warning. Then updates the fields that
# the creation has no flags for, except those whose update drains nodes.
complete_creation() {
  [ -z "$dry_run" ] && [ -n "${stateful[number]}" ] || return 0
  compare_quietly
  [ -n "$updatable" ] || return 0
  acted=
  "apply_$number"
  [ -z "$acted" ] || require_ready
}

compare_quietly() {
  local check_only=yes verify_only='' replacements=() disruptions=() skips=() unmarked=()
  "compare_$number"
  [ ${#replacements[@]} -eq 0 ] ||
    die 'created, but not as requested:' "${replacements[@]}" \
      'remove the cause, delete the resource, then run this script again'
  updatable=
  [ ${#disruptions[@]} -gt 0 ] || [ ${#skips[@]} -gt 0 ] || updatable=yes
}

# Explains why a command on the resource of this number failed, if its state shows the reason.
explain_failure() {
  [ "$number" -gt 0 ] && [ -n "${stateful[number]-}" ] && [ -z "$explaining" ] || return 0
  explaining=yes
  "read_$number"
  case ${states[number]} in
    progressing | deleting)
      say "  ${remnants[number]:-${names[number]}}: ${statuses[number]}: run this script again to wait for the result"
      ;;
    degraded | failed)
      describe_failure
      say_lines "${failure[@]}"
      [ "${states[number]}" != recoverable ] || say 'run this script again: it deletes this, then starts again'
      ;;
    *) report '  ' ;;
  esac
}

# lookup NAME PROGRAM COMMAND…: reads the desired value of a field that the cloud chooses, with PROGRAM, a jq program, from
# the output of COMMAND. There is nothing to compare it with if the resource does not exist.
lookup() {
  local name="${names[number]}: $1" program=$2
  shift 2
  desired[number]=null
  ! is_missing || return 0
  query "$@" || unreadable "$name: cannot read what the cloud recommends" "$@"
  desired[number]=$(jq -c "$program" "$work/answer" 2>"$work/said") && [ -n "${desired[number]}" ] ||
    die "$name: unexpected output of command: $(shown "$@")"
}

# field NAME CHANGE REASON WANT READ [OTHERS]: adds a field to compare. WANT is JSON; READ is the jq program that reads
# the current value from the resource. CHANGE is how a difference is handled: `changes` updates in place, `rolls` drains
# nodes, `offers` drains nodes for a value that the cloud recommends, and is done only with --allow-disruption,
# `replaces` requires replacement, `climbs` is a version that must not skip a minor version. REASON explains all but the
# first. OTHERS is the jq program that lists entries that gpuc does not manage; they are kept.
field() {
  local index=${#fields[@]} next=empty
  fields+=("$1")
  changes+=("$2")
  reasons+=("$3")
  wants="$wants${wants:+,}$4"
  [ "$2" != climbs ] || next='map(split(".")[1] | tonumber)[0] + 1
    | if . < ($want | split(".")[1] | tonumber) then "1.\(.)" else empty end'
  # The definitions use $want.
  programs="$programs${programs:+,}
    (\$wants[$index] as \$want | ${defined[number]-}
    try (
      ([${6-empty}] | add // [] | select(. != []) | [\"kept\", join(\", \")]),
      ([(
        $5
      )] | select(. != [\$want])
      | [\"differs\", \"\(.[0] | tojson) -> \(\$want | tojson)\"], ($next | [\"next\", .]))
    ) catch [\"unreadable\", .] | [$index] + .)"
}

# Compares the fields that were added, and forgets them.
compare_fields() {
  local index what text name difference=''
  if [ -z "${missing[number]}" ]; then
    jq -r --argjson wants "[$wants]" "$programs"' | map(tostring | gsub("[[:cntrl:]]+"; " ")) | join("\t")' \
      "$work/$number.json" >"$work/fields" || die "${names[number]}: cannot be compared"
    while IFS=$'\t' read -r index what text; do
      name="${names[number]}: ${fields[index]}"
      case $what in
        kept) [ -n "$check_only" ] || say "$name: not managed by gpuc, kept: $text" ;;
        differs)
          difference="$name: $text"
          if [ "${changes[index]}" = offers ] && [ -z "$allow_disruption" ]; then
            [ -n "$check_only" ] && [ -z "$verify_only" ] ||
              say "$difference: to apply this, run apply.sh --allow-disruption: ${reasons[index]}"
            continue
          fi
          differing[number]+="${fields[index]}"$'\n'
          case ${changes[index]} in
            replaces) replacements+=("$difference" "  ${reasons[index]}") ;;
            rolls) disruptions+=("$difference" "  ${reasons[index]}") ;;
            *) ;;
          esac
          if [ -n "$verify_only" ]; then
            case ${changes[index]} in
              replaces) say "$difference: requires replacement" ;;
              rolls | offers) say "$difference: to apply this, run apply.sh --allow-disruption" ;;
              *) say "$difference: to apply this, run apply.sh" ;;
            esac
          elif [ -z "$check_only" ]; then
            say "$difference"
          fi
          ;;
        next)
          skips+=("$difference"
            "  ${reasons[index]}: set kubernetes.version to $text, run gpuc build, then run this script")
          ;;
        *) die "$name: cannot be read" "jq: $text" ;;
      esac
    done <"$work/fields"
  fi
  fields=() changes=() reasons=() wants='' programs=''
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
  if [ -n "$verify_only" ]; then
    [ ${#unmarked[@]} -eq 0 ] || say_lines "${unmarked[@]/#/warning: not managed by these scripts: }"
    [ ${#failed_resources[@]} -eq 0 ] || die 'resources are not ready:' "${failed_resources[@]}"
    return 0
  fi
  [ ${#unmarked[@]} -eq 0 ] ||
    stop 'created by others: to manage it with these scripts from now on, add --adopt:' "${unmarked[@]}" \
      'to leave it to its creator, declare it as existing in the input of gpuc: on EKS, pools of others cannot be adopted'
  [ ${#failed_resources[@]} -eq 0 ] ||
    stop 'failed in the cloud:' "${failed_resources[@]}"
  [ ${#skips[@]} -eq 0 ] ||
    stop 'cannot skip a minor version of Kubernetes:' "${skips[@]}"
  [ ${#replacements[@]} -eq 0 ] ||
    stop 'immutable: requires replacement:' "${replacements[@]}" \
      ${adopt:+'if others created it, declare it as existing in the input of gpuc instead'}
  [ ${#disruptions[@]} -eq 0 ] || [ -n "$allow_disruption" ] ||
    stop 'drains nodes: to allow this, add --allow-disruption:' "${disruptions[@]}"
}

stop() {
  [ -n "$dry_run" ] || die "${0##*/} ${changed:-made no changes}: $1" "${@:2}"
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
  local name=$1
  shift
  if read_json "$name" '' "$@"; then
    return 1
  fi
  say "${names[number]}: created together with $name"
}

# Reports that the resource does not exist and is created.
begin_creation() {
  say "${names[number]}: not found"
  created=yes
}

# Reports, if this run is only a check, that a resource that no script creates does not exist.
report_missing() {
  [ -n "$check_only" ] && is_missing || return 0
  say "${names[number]}: not found, and no script creates it"
}

# Reports a resource that does not exist and that no script creates. The script continues with the others.
report_absent() {
  say "${names[number]}: not found"
  absent+=("${names[number]}")
}

# carry_out COUNT: reads every resource with compare_1, compare_2, …, then creates or updates each with apply_1, apply_2, ….
carry_out() {
  local count=$1 before is_new updatable
  for ((number = 1; number <= count; number++)); do
    "compare_$number"
  done
  settle
  if [ -n "$check_only" ] || [ -n "$stopped" ]; then
    [ -z "$stopped" ] || exit 1
    return 0
  fi
  for ((number = 1; number <= count; number++)); do
    # A resource created above may have created this one too.
    if [ -n "$created" ] && [ -z "$dry_run" ] && is_missing; then
      "compare_$number"
      settle
    fi
    before=$acted acted=
    recover_state
    is_new=${missing[number]}
    "apply_$number"
    if [ -n "$acted" ] || [ "${states[number]}" = degraded ]; then
      require_ready
    fi
    [ -z "$is_new" ] || [ -z "$acted" ] || complete_creation
    acted=$before$acted
  done
  [ ${#absent[@]} -eq 0 ] || {
    say "error: not found, and no script creates them: $(listed "${absent[@]}")"
    exit 3
  }
  [ -n "$acted" ] || say 'nothing to do'
}

# listed TEXT…: prints the texts, separated by commas.
listed() {
  local text
  printf '%s' "$1"
  shift
  for text in "$@"; do printf ', %s' "$text"; done
}

# require_mark MARK NAME PROGRAM: adds the resource of this number to $unmarked, unless PROGRAM, a jq program, shows that
# it has the mark of these scripts. NAME is its name in the cloud.
require_mark() {
  local answer
  answer=$(jq --arg name "$2" "$3" "$work/$number.json") || die "${names[number]}: cannot read the $1"
  [ "$answer" = true ] || unmarked+=("${names[number]}: no $1")
}

# require_unprotected PROGRAM: adds a resource to $protected if the cloud refuses to delete it, as the jq PROGRAM says.
require_unprotected() {
  local answer
  answer=$(jq "$1" "$work/$number.json") || die "${names[number]}: cannot read the deletion protection"
  [ "$answer" = false ] || protected+=("${names[number]}")
}

# require_mark_or_adopt MARK NAME PROGRAM: like require_mark, for a run that updates the resource if it exists.
require_mark_or_adopt() {
  is_missing || [ -n "$adopt" ] || require_mark "$@"
}

# require_only KIND CREATED PROGRAM COMMAND…: adds to $foreign what COMMAND lists and these scripts do not create. PROGRAM
# is the jq program that outputs the names from the list, CREATED are those that the scripts create, as JSON.
require_only() {
  local kind=$1 created=$2 program=$3 name
  shift 3
  query "$@" || unreadable "${names[number]}: the $kind cannot be listed" "$@"
  jq -rs --argjson created "$created" \
    "if length == 1 then .[0] else error(\"not one JSON value\") end | [$program] - \$created | .[] | tojson" \
    "$work/answer" >"$work/lines" 2>"$work/said" ||
    die "${names[number]}: the $kind cannot be read from the output of command: $(shown "$@")"
  while IFS= read -r name; do
    if [ -n "$delete_other_pools" ]; then
      say "${names[number]}: $kind: $name: deleted with the cluster"
    else
      foreign+=("${names[number]}: $kind: $name")
    fi
  done <"$work/lines"
}

# Stops if a resource does not have the mark of these scripts, is protected, or contains what they do not create.
stop_if_unmarked() {
  [ ${#unmarked[@]} -eq 0 ] ||
    stop 'not managed by these scripts:' "${unmarked[@]}" \
      'if others created them, remove them from the input of gpuc and run gpuc build' \
      'if these scripts are to manage them, run apply.sh --adopt, which sets the mark'
  [ ${#protected[@]} -eq 0 ] ||
    stop 'protected from deletion:' "${protected[@]}" \
      'write deletionProtection: false in the input of gpuc, run gpuc build and apply.sh, and try again'
  [ ${#foreign[@]} -eq 0 ] ||
    stop 'the cluster has other pools than those of these scripts:' "${foreign[@]}" \
      'delete them first, or add --delete-other-pools to delete them with the cluster'
  [ -z "$stopped" ] || exit 1
}

# take_down COUNT ACTION: deletes every existing resource with delete_1, delete_2, …. ACTION is the word for this in
# messages.
take_down() {
  local count=$1 action=$2
  for ((number = 1; number <= count; number++)); do
    "read_$number"
    is_missing || "mark_$number"
  done
  stop_if_unmarked
  confirm
  for ((number = 1; number <= count; number++)); do
    await_stable
    if [ -n "${unowned[number]}" ]; then
      say "${names[number]}: not found"
      say "  ${remnants[number]}: kept: it does not have the tags ${unowned[number]}"
    elif [ "${states[number]}" = recoverable ]; then
      run_recovery
      require_gone
    elif [ -n "${remnants[number]}" ] && [ "${states[number]}" != failed ]; then
      : # A dry run has reported that it is in progress.
    elif [ -n "${remnants[number]}" ]; then
      die 'cannot be deleted:' "${failure[@]}"
    elif is_missing; then
      say "${names[number]}: not found"
    else
      # Others may have created it while the script waited.
      "mark_$number"
      stop_if_unmarked
      say "${names[number]}: $action"
      "delete_$number"
      require_gone
    fi
  done
  [ -n "$acted" ] || say 'nothing to do'
}

# Stops if the resource of this number still exists. Resources without a state stay: only their settings were removed.
require_gone() {
  [ -z "$dry_run" ] && [ -n "${stateful[number]}" ] || return 0
  await_stable
  if is_missing && [ -z "${remnants[number]}" ]; then return 0; fi
  [ "${states[number]}" != ready ] || failure=("${names[number]}: ${statuses[number]}")
  die 'cannot be deleted:' "${failure[@]}"
}
