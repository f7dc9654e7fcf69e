usage="Deletes what the scripts beside it made for cluster $cluster. Workloads and their data are lost.
usage: ${0##*/} [--dry-run] [--yes NAME]
  --dry-run   shows what would be run, and deletes nothing
  --yes NAME  does not ask; NAME is the cluster's name"
confirmed=
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --yes)
      [ $# -gt 1 ] || die '--yes needs the name of the cluster'
      confirmed=$2
      [ "$confirmed" = "$cluster" ] || die "--yes is not followed by the name of the cluster, $cluster"
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

# Stops unless the user types the cluster's name.
confirm() {
  [ -z "$dry_run" ] && [ -z "$confirmed" ] || return 0
  say "This removes what the scripts beside it made for cluster $cluster. What runs there may be lost."
  printf 'Type the name of the cluster to go on: ' >&2
  IFS= read -r confirmed || confirmed=
  [ "$confirmed" = "$cluster" ] || die 'that is not its name; nothing was deleted'
}
