usage="Verifies the cluster: nodes, the resources that they advertise, and pods that request them.
usage: ${0##*/} [--context NAME] [--image IMAGE | --no-pods] [--namespace NAME] [--timeout SECONDS]
       [--prove FILE]
  --context NAME     a context of your kubeconfig (default: $default_context)
  --image IMAGE      runs nvidia-smi in a test pod for every resource; an image with glibc, for example a CUDA image
  --no-pods          creates no test pods
  --namespace NAME   namespace of the test pods (default: default)
  --timeout SECONDS  how long to wait for a test pod, including the image pull (default: 300)
  --prove FILE       also proves the network between GPUs, with gpuc and the file of the cluster; takes minutes"
context=
image=
pods=yes
namespace=default
timeout=300
prove=
while [ $# -gt 0 ]; do
  case $1 in
    --context | --image | --namespace | --timeout | --prove)
      [ $# -gt 1 ] || die "$1 needs a value"
      case $1 in
        --context) context=$2 ;;
        --image) image=$2 ;;
        --namespace) namespace=$2 ;;
        --prove) prove=$2 ;;
        *) timeout=$2 ;;
      esac
      shift
      ;;
    --no-pods) pods= ;;
    --help | -h)
      printf '%s\n' "$usage"
      exit 0
      ;;
    *) unknown_flag "$1" "$usage" ;;
  esac
  shift
done
case $timeout in
  '' | *[!0-9]*) die '--timeout needs a whole number of seconds' ;;
esac

if [ -n "$prove" ]; then
  [ -f "$prove" ] || die "--prove needs the file of the cluster: $prove is not a file"
  tools gpuc
fi

failures=0
ready_nodes=0
checked= # the resources that were checked on the nodes of a pool
test_pod=
test_claim=

fine() { say "ok       $*"; }
note() { say "note     $*"; }
fail() {
  say "FAILED   $*"
  failures=$((failures + 1))
}

# counted NUMBER NOUN: prints the number and the noun, in the plural unless the number is 1.
counted() {
  if [ "$1" -eq 1 ]; then
    printf '1 %s' "$2"
  else
    printf '%s %ss' "$1" "$2"
  fi
}

# Checks that every resource in the cloud exists and is ready.
resources() {
  if GPUC_TOOLS_CHECKED=yes "$here/apply.sh" --verify 2>"$work/said"; then
    fine 'every resource in the cloud is ready'
  else
    fail 'resources in the cloud are not ready'
  fi
  cat "$work/said" >&2
}

kube() { kubectl ${context:+--context "$context"} "$@"; }

at_exit() {
  [ -z "$test_pod" ] ||
    kube delete pod "$test_pod" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null 2>&1 || :
  [ -z "$test_claim" ] ||
    kube delete resourceclaim "$test_claim" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null 2>&1 || :
}

# during START END COUNT: prints COUNT between these times in UTC, and 0 before and after. These times are sorted as texts.
during() {
  local now
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  if [[ $now < $1 ]] || [[ ! $now < $2 ]]; then
    echo 0
  else
    echo "$3"
  fi
}

# nodes POOL FEWEST SELECTOR: counts the pool's ready nodes, and saves them for the next checks. A node whose GPUs
# gpuc-runtime has not partitioned yet is not ready: no pod can be scheduled to it.
nodes() {
  local pool=$1 fewest=$2 selector=$3 all starting
  checked=
  kube get nodes --selector "$selector" --output json >"$work/all.json" ||
    die "pool $pool: cannot list nodes"
  jq --arg startup 'startup-taint.cluster-autoscaler.kubernetes.io/gpuc' '
    def starting: any(.spec.taints[]?; .key == $startup);
    [.items[] | select(any(.status.conditions[]?; .type == "Ready" and .status == "True"))]
    | {nodes: map(select(starting | not)), starting: map(select(starting) | .metadata.name)}' \
    "$work/all.json" >"$work/pool.json"
  jq .nodes "$work/pool.json" >"$work/nodes.json"
  starting=$(jq -r '.starting | join(", ")' "$work/pool.json")
  all=$(jq '.items | length' "$work/all.json")
  ready_nodes=$(jq length "$work/nodes.json")
  if [ -n "$starting" ]; then
    fail "pool $pool: gpuc-runtime has not partitioned the GPUs of $starting yet; their startup taint repels pods"
  elif [ "$ready_nodes" -lt "$fewest" ]; then
    fail "pool $pool: $(counted "$ready_nodes" node) ready, expected at least $fewest (selector $selector)"
  elif [ "$ready_nodes" -lt "$all" ]; then
    fail "pool $pool: $ready_nodes of $(counted "$all" node) ready"
  elif [ "$ready_nodes" -eq 0 ]; then
    note "pool $pool: no nodes; further checks skipped"
  else
    fine "pool $pool: $(counted "$ready_nodes" node) ready"
  fi
}

# taints POOL TAINT...: checks that every ready node has each taint, which no script sets.
taints() {
  local pool=$1 taint without
  shift
  [ "$ready_nodes" -gt 0 ] || return 0
  for taint in "$@"; do
    without=$(
      jq -r --arg taint "$taint" '
        .[] | select(any(.spec.taints[]?; "\(.key)=\(.value // ""):\(.effect)" == $taint) | not)
        | .metadata.name' "$work/nodes.json"
    )
    if [ -z "$without" ]; then
      fine "pool $pool: every node has the taint $taint"
    else
      fail "pool $pool: without the taint $taint, which the owner of the nodes sets: ${without//$'\n'/, }"
    fi
  done
}

# allocatable POOL RESOURCE COUNT: checks that every ready node has COUNT of the resource. More means that a change of
# the pool has not taken effect.
allocatable() {
  local pool=$1 resource=$2 count=$3 others
  checked="$checked $resource "
  [ "$ready_nodes" -gt 0 ] || return 0
  others=$(
    jq -r --arg resource "$resource" --argjson count "$count" '
      .[] | {name: .metadata.name, has: (.status.allocatable[$resource] // "0")}
      | select((.has | tonumber? // 0) != $count) | "\(.name) has \(.has)"' "$work/nodes.json"
  )
  if [ -z "$others" ]; then
    fine "pool $pool: every node has $count $resource"
  else
    fail "pool $pool: expected $count $resource per node: ${others//$'\n'/, }"
  fi
}

# no_others POOL: checks that no ready node has GPU resources that were not checked, such as those of an earlier MIG
# layout.
no_others() {
  local pool=$1 others
  [ "$ready_nodes" -gt 0 ] || return 0
  others=$(
    jq -r --arg checked "$checked" '
      .[] | .metadata.name as $name | (.status.allocatable // {}) | to_entries[]
      | select(.key | test("^nvidia[.]com/(gpu([.]shared)?|mig-.*)$"))
      | select((.value | tonumber? // 0) > 0)
      | select(.key as $key | $checked | contains(" \($key) ") | not)
      | "\($name) has \(.value) \(.key)"' "$work/nodes.json"
  )
  [ -z "$others" ] || fail "pool $pool: unexpected resources: ${others//$'\n'/, }"
}

# devices POOL CLASS DRIVER TYPE PROFILE COUNT: checks that the driver publishes at least COUNT devices for every ready
# node.
devices() {
  local pool=$1 class=$2 driver=$3 type=$4 profile=$5 count=$6 short
  [ "$ready_nodes" -gt 0 ] || return 0
  if ! kube get resourceslices --output json >"$work/slices.json"; then
    fail "pool $pool: cannot list the ResourceSlices of $driver: check that this Kubernetes version supports DRA"
    return 0
  fi
  short=$(
    jq -r --slurpfile slices "$work/slices.json" --arg driver "$driver" --arg type "$type" \
      --arg profile "$profile" --argjson count "$count" '
      .[].metadata.name as $node
      | [$slices[0].items[].spec | select(.driver == $driver and .nodeName == $node)] as $all
      | ([$all[].pool.generation // 0] | max) as $newest
      | [$all[] | select((.pool.generation // 0) == $newest) | .devices[]?.attributes
         | select(.type.string == $type and ($profile == "" or .profile.string == $profile))]
      | select(length < $count) | "\($node) has \(length)"' "$work/nodes.json"
  )
  if [ -z "$short" ]; then
    fine "pool $pool: every node has $(counted "$count" device) of class $class"
  else
    fail "pool $pool: expected $(counted "$count" device) of class $class per node: ${short//$'\n'/, }"
  fi
}

# named POOL RESOURCE CLASS: checks that Kubernetes allocates devices of the class to pods that request the resource. Of
# several DeviceClasses with this name, Kubernetes uses the newest, then the first by name. A node whose device plugin
# advertises the resource is not served by the class.
named() {
  local pool=$1 resource=$2 class=$3 serving advertising
  if ! kube get deviceclasses.resource.k8s.io --output json >"$work/classes.json"; then
    fail "pool $pool: cannot list DeviceClasses: check that this Kubernetes version supports DRA"
    return 0
  fi
  serving=$(
    jq -r --arg resource "$resource" '
      [.items[] | select(.spec.extendedResourceName == $resource) | .metadata]
      | (map(.creationTimestamp) | max) as $newest
      | map(select(.creationTimestamp == $newest) | .name) | sort | first // ""' "$work/classes.json"
  )
  if [ "$serving" = "$class" ]; then
    fine "pool $pool: DeviceClass $class serves $resource"
  elif [ -z "$serving" ]; then
    fail "pool $pool: no DeviceClass has the extended resource $resource: check that the manifests are applied"
  else
    fail "pool $pool: DeviceClass $serving serves $resource instead of $class: to make $class the newest one, delete it \
and apply the manifests again"
  fi
  [ "$ready_nodes" -gt 0 ] || return 0
  advertising=$(
    jq -r --arg resource "$resource" '
      .[] | select((.status.allocatable[$resource] // "0") != "0") | .metadata.name' "$work/nodes.json"
  )
  [ -z "$advertising" ] ||
    fail "pool $pool: a device plugin still advertises $resource: ${advertising//$'\n'/, }"
}

# daemon_set POOL NAMESPACE NAME: checks that the DaemonSet is rolled out and ready.
daemon_set() {
  local pool=$1 namespace=$2 name=$3 counts seen desired updated ready
  if ! kube get daemonset "$name" --namespace "$namespace" --output json >"$work/daemonset.json"; then
    fail "pool $pool: DaemonSet $namespace/$name not found: check that the manifests are applied"
    return 0
  fi
  [ "$ready_nodes" -gt 0 ] || return 0
  counts=$(
    jq -r '.metadata.generation as $written | .status
      | [(.observedGeneration // 0) >= ($written // 0), .desiredNumberScheduled // 0, .updatedNumberScheduled // 0,
         .numberReady // 0] | join(" ")' "$work/daemonset.json"
  )
  read -r seen desired updated ready <<<"$counts"
  if [ "$seen" != true ]; then
    fail "pool $pool: DaemonSet $namespace/$name: the controller has not observed the latest generation"
  elif [ "$desired" -eq 0 ]; then
    fail "pool $pool: DaemonSet $namespace/$name: 0 desired pods: its tolerations or node selector match no node"
  elif [ "$updated" -lt "$desired" ]; then
    fail "pool $pool: DaemonSet $namespace/$name: updated on $updated of $(counted "$desired" node)"
  elif [ "$ready" -lt "$desired" ]; then
    fail "pool $pool: DaemonSet $namespace/$name: ready on $ready of $(counted "$desired" node)"
  else
    fine "pool $pool: DaemonSet $namespace/$name: ready on $(counted "$ready" node)"
  fi
}

# pod POOL RESOURCE NAME SPEC: checks that a pod that requests one of the resource sees a GPU. SPEC is JSON.
pod() {
  local pool=$1 resource=$2 name=$3 spec=$4
  [ "$ready_nodes" -gt 0 ] && [ -n "$pods" ] || return 0
  if [ -z "$image" ]; then
    note "pool $pool: $resource not tested with a pod; to test it, add --image IMAGE"
    return 0
  fi
  jq -n --argjson spec "$spec" --arg name "$name" --arg resource "$resource" --arg image "$image" '
    {apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: {"app.kubernetes.io/managed-by": "gpuc"}},
     spec: ($spec + {restartPolicy: "Never", terminationGracePeriodSeconds: 0,
       containers: [{name: "nvidia-smi", image: $image, command: ["nvidia-smi", "-L"],
         securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}},
         resources: {limits: {($resource): "1"}}}]})}' >"$work/pod.json"
  see "$pool" "one $resource" "$name"
}

# claim POOL CLASS NAME SPEC: checks that a pod with a ResourceClaim for one device of the class sees a GPU. SPEC is
# JSON.
claim() {
  local pool=$1 class=$2 name=$3 spec=$4
  [ "$ready_nodes" -gt 0 ] && [ -n "$pods" ] || return 0
  if [ -z "$image" ]; then
    note "pool $pool: DeviceClass $class not tested with a pod; to test it, add --image IMAGE"
    return 0
  fi
  test_claim=$name
  jq -n --arg name "$name" --arg class "$class" '
    {apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim",
     metadata: {name: $name, labels: {"app.kubernetes.io/managed-by": "gpuc"}},
     spec: {devices: {requests: [{name: "gpus",
       exactly: {deviceClassName: $class, allocationMode: "ExactCount", count: 1}}]}}}' >"$work/claim.json"
  jq -n --argjson spec "$spec" --arg name "$name" --arg image "$image" '
    {apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: {"app.kubernetes.io/managed-by": "gpuc"}},
     spec: ($spec + {restartPolicy: "Never", terminationGracePeriodSeconds: 0,
       resourceClaims: [{name: "gpus", resourceClaimName: $name}],
       containers: [{name: "nvidia-smi", image: $image, command: ["nvidia-smi", "-L"],
         securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}},
         resources: {claims: [{name: "gpus"}]}}]})}' >"$work/pod.json"
  kube delete resourceclaim "$name" --namespace "$namespace" --ignore-not-found >/dev/null
  if kube create --namespace "$namespace" --filename "$work/claim.json" >/dev/null; then
    see "$pool" "one device of class $class" "$name"
  else
    fail "pool $pool: cannot create ResourceClaim $name for a device of class $class"
  fi
  kube delete resourceclaim "$name" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null
  test_claim=
}

# see POOL WHAT NAME: checks that the pod in the work folder sees a GPU.
see() {
  local pool=$1 what=$2 name=$3 phase=Pending ends=$((SECONDS + timeout))
  test_pod=$name
  kube delete pod "$name" --namespace "$namespace" --ignore-not-found >/dev/null
  if ! kube create --namespace "$namespace" --filename "$work/pod.json" >/dev/null; then
    fail "pool $pool: cannot create pod $name for $what"
    return 0
  fi
  while [ "$SECONDS" -lt "$ends" ]; do
    kube get pod "$name" --namespace "$namespace" --output json >"$work/pod.json" || { phase='' && break; }
    phase=$(jq -r '.status.phase // ""' "$work/pod.json")
    case $phase in
      Succeeded | Failed) break ;;
      *) sleep 2 ;;
    esac
  done
  kube logs "$name" --namespace "$namespace" >"$work/log" 2>&1 || :
  if [ "$phase" = Succeeded ] && grep -q '^GPU 0' "$work/log"; then
    fine "pool $pool: a pod with $what sees $(grep -E '^GPU|^  *MIG' "$work/log" | tr -s ' ' | tr '\n' ' ')"
  else
    case $phase in
      Succeeded) fail "pool $pool: a pod with $what sees no GPU" ;;
      Failed) fail "pool $pool: nvidia-smi failed in a pod with $what" ;;
      '') fail "pool $pool: cannot read the status of pod $name" ;;
      *) fail "pool $pool: a pod with $what did not complete within $(counted "$timeout" second); its phase is $phase" ;;
    esac
    jq -r '(.status.conditions[]? | select(.status == "False") | .message // empty),
      (.status.containerStatuses[]?.state | .waiting // .terminated | .reason // empty)' "$work/pod.json" >&2 || :
    cat "$work/log" >&2
  fi
  kube delete pod "$name" --namespace "$namespace" --ignore-not-found --wait=false >/dev/null
  test_pod=
}

# fabric POOL CLUSTER NODES: proves the network between the GPUs of NODES nodes, or NVLink inside one.
fabric() {
  local pool=$1 cluster=$2 nodes=$3
  [ -n "$prove" ] || return 0
  if [ "$ready_nodes" -lt "$nodes" ]; then
    note "pool $pool: $(counted "$ready_nodes" node) ready; its network is not proven, which needs $nodes"
    return 0
  fi
  say "         pool $pool: proving the network between GPUs"
  if gpuc prove "$pool" "$prove" --cluster "$cluster" --fabric --nodes "$nodes" --apply \
    ${context:+--context "$context"} >"$work/said" 2>&1; then
    fine "pool $pool: the network between GPUs is proven"
    grep '^warning' "$work/said" >&2 || :
  else
    fail "pool $pool: the network between GPUs is not proven"
    cat "$work/said" >&2
  fi
}

finish() {
  [ "$failures" -eq 0 ] || die "$(counted "$failures" check) failed"
  say 'all checks passed'
}
