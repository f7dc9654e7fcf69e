usage="$about
usage: ${0##*/} [--dry-run] [--yes NAME] [--delete-other-pools] [--timeout MINUTES]
  --dry-run             prints the commands without running them
  --yes NAME            skips the confirmation; NAME is the name of the cluster
  --delete-other-pools  deletes the cluster even if it has other pools than those of these scripts
  --timeout MINUTES     stops waiting for a resource after this time; the default depends on the kind of resource"
confirmed=
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --yes)
      [ $# -gt 1 ] || die '--yes needs the name of the cluster'
      confirmed=$2
      [ "$confirmed" = "$cluster" ] || die "invalid value for --yes: expected the name of the cluster, $cluster"
      shift
      ;;
    --delete-other-pools) delete_other_pools=yes ;;
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

# Stops unless the user types the cluster's name.
confirm() {
  [ -z "$dry_run" ] && [ -z "$confirmed" ] || return 0
  say "$about"
  [ -z "$delete_other_pools" ] || say 'The pools above that others created are deleted with the cluster.'
  printf 'Type the name of the cluster to continue: ' >&2
  IFS= read -r confirmed || confirmed=
  [ "$confirmed" = "$cluster" ] || die 'the name does not match; nothing was changed'
}
