usage="Deploys manifests and charts to the cluster, in dependency order.
usage: ${0##*/} [--dry-run] [--context NAME] [--timeout DURATION] [--take-ownership]
  --dry-run           prints the commands without running them
  --context NAME      a context of your kubeconfig (default: $default_context)
  --timeout DURATION  how long to wait for a chart to become ready (default: 15m)
  --take-ownership    adopts objects of the charts that Helm did not create, for example those of Argo CD"
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

step= # the step that is running

at_exit() {
  local code=$?
  [ "$code" -eq 0 ] || [ -z "$step" ] ||
    say "error: step $step failed; later steps were not run: fix the cause, then run ${0##*/} again"
}

note() { say "note     $*"; }

# Stops if the API server does not answer, before the first step.
reach() {
  kubectl ${context:+--context "$context"} version >/dev/null 2>"$work/said" || {
    cat "$work/said" >&2
    die 'cannot reach the API server of the cluster: check the network and the context, then run this script again'
  }
}

begin() {
  step=$1
  say "== $step"
}

# objects NAME FOLDER: applies the manifests of a component.
objects() {
  begin "$1"
  run kubectl ${context:+--context "$context"} apply --server-side --kustomize "$here/$2"
  step=
}

# release NAME VALUES NAMESPACE VERSION CHART…: installs or upgrades a release. CHART… is the chart, as helm takes it.
release() {
  local name=$1 values=$2 namespace=$3 version=$4
  shift 4
  begin "$name"
  run helm ${context:+--kube-context "$context"} upgrade --install "$name" "$@" --version "$version" \
    --namespace "$namespace" --values "$here/$values" --wait --timeout "$timeout" \
    ${take_ownership:+--take-ownership}
  step=
}

# kinds NAME VERSION CHART…: applies the CRDs in a chart's folder crds. Helm installs them once and never updates them,
# so they are updated before the chart that needs the new ones.
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
  # Helm's field manager owns the CRDs that Helm created; --force-conflicts takes them over.
  run kubectl ${context:+--context "$context"} apply --server-side --force-conflicts --filename - <"$work/crds.yaml"
  step=
}
