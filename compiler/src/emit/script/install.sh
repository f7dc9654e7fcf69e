usage="Brings to the cluster what runs in it: manifests and charts, each after what it needs.
usage: ${0##*/} [--dry-run] [--context NAME] [--timeout DURATION] [--take-ownership]
  --dry-run           shows what would be run, and changes nothing
  --context NAME      a context of your kubeconfig, instead of one that is fetched for this run
  --timeout DURATION  how long a chart may take until all of it is ready (15m)
  --take-ownership    lets charts take over what something else than Helm made of them, such as Argo CD"
context=
take_ownership=
timeout=15m
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --take-ownership) take_ownership=yes ;;
    --context | --timeout)
      [ $# -gt 1 ] || die "$1 needs a value"
      case $1 in
        --context) context=$2 ;;
        *) timeout=$2 ;;
      esac
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

step= # what is being brought

at_exit() {
  local code=$?
  [ "$code" -eq 0 ] || [ -z "$step" ] ||
    say "error: the step $step failed, and nothing after it was tried; run ${0##*/} again when that is mended"
}

note() { say "note     $*"; }

begin() {
  step=$1
  say "== $step"
}

# objects NAME FOLDER: the manifests of a component.
objects() {
  begin "$1"
  run kubectl ${context:+--context "$context"} apply --server-side --kustomize "$here/$2"
  step=
}

# release NAME VALUES NAMESPACE VERSION CHART…: a chart, as helm finds it.
release() {
  local name=$1 values=$2 namespace=$3 version=$4
  shift 4
  begin "$name"
  run helm ${context:+--kube-context "$context"} upgrade --install "$name" "$@" --version "$version" \
    --namespace "$namespace" --values "$here/$values" --wait --timeout "$timeout" \
    ${take_ownership:+--take-ownership}
  step=
}

# kinds NAME VERSION CHART…: the kinds in a chart's folder crds. Helm makes them once and never changes them, so they
# are brought up to date before the chart that needs the new ones.
kinds() {
  local name=$1 version=$2
  shift 2
  begin "$name"
  if [ -n "$dry_run" ]; then
    printf '%s | ' "$(shown helm show crds "$@" --version "$version")"
    : >"$work/crds.yaml"
  else
    say "+ $(shown helm show crds "$@" --version "$version")"
    helm show crds "$@" --version "$version" >"$work/crds.yaml"
  fi
  # What Helm made belongs to Helm's field manager until somebody takes it over.
  run kubectl ${context:+--context "$context"} apply --server-side --force-conflicts --filename - <"$work/crds.yaml"
  step=
}
