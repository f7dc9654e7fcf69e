//! Ranges of numbers.

use gpuc_syntax::node::Node;

use super::field_path::Step;
use super::scalar::{Read, get, read, text};
use super::types::fields;
use super::{ObjectContext, priority};

/// The largest 32-bit integer.
const MOST: i128 = i32::MAX as i128;

/// The highest port, and the file mode with all permissions.
const PORT: i128 = 65_535;
const MODE: i128 = 0o777;

/// The highest priority that users can set.
///
/// Source: kubernetes `pkg/apis/scheduling/types.go`, `HighestUserDefinablePriority`.
const PRIORITY: i128 = 1_000_000_000;

/// The ranges of numbers, by type and field: minimum and maximum.
///
/// Sources: kubernetes `pkg/apis/core/validation/validation.go` (`validateContainerPorts`, `validateProbe`,
/// `ValidatePortNumOrName`, `ValidateNonnegativeField`, `validateTopologySpreadConstraints`, `ValidatePodSpec`,
/// `ValidateSecurityContext`, `validateKeyToPath`), `pkg/apis/apps/validation/validation.go`,
/// `pkg/apis/batch/validation/validation.go`, `pkg/apis/autoscaling/validation/validation.go`,
/// `pkg/apis/networking/validation/validation.go` and `pkg/apis/scheduling/validation/validation.go`; of sets
/// kubernetes-sigs/lws@01ebf9bc `pkg/webhooks/leaderworkerset_webhook.go`, `ValidateCreate`.
const RANGES: &[(&str, &str, i128, i128)] = &[
    ("ConfigMapVolumeSource", "defaultMode", 0, MODE),
    ("ContainerPort", "containerPort", 1, PORT),
    ("ContainerPort", "hostPort", 0, PORT),
    ("CronJobSpec", "failedJobsHistoryLimit", 0, MOST),
    (
        "CronJobSpec",
        "startingDeadlineSeconds",
        0,
        i64::MAX as i128,
    ),
    ("CronJobSpec", "successfulJobsHistoryLimit", 0, MOST),
    ("DaemonSetSpec", "minReadySeconds", 0, MOST),
    ("DaemonSetSpec", "revisionHistoryLimit", 0, MOST),
    ("DeploymentSpec", "minReadySeconds", 0, MOST),
    ("DeploymentSpec", "progressDeadlineSeconds", 0, MOST),
    ("DeploymentSpec", "replicas", 0, MOST),
    ("DeploymentSpec", "revisionHistoryLimit", 0, MOST),
    ("DownwardAPIVolumeSource", "defaultMode", 0, MODE),
    ("GRPCAction", "port", 1, PORT),
    ("HPAScalingPolicy", "periodSeconds", 1, 1800),
    ("HPAScalingPolicy", "value", 1, MOST),
    ("HPAScalingRules", "stabilizationWindowSeconds", 0, 3600),
    ("HTTPGetAction", "port", 1, PORT),
    ("HorizontalPodAutoscalerSpec", "maxReplicas", 1, MOST),
    ("HorizontalPodAutoscalerSpec", "minReplicas", 0, MOST),
    ("JobSpec", "activeDeadlineSeconds", 0, i64::MAX as i128),
    ("JobSpec", "backoffLimit", 0, MOST),
    ("JobSpec", "backoffLimitPerIndex", 0, MOST),
    ("JobSpec", "completions", 0, MOST),
    ("JobSpec", "maxFailedIndexes", 0, MOST),
    ("JobSpec", "parallelism", 0, MOST),
    ("JobSpec", "ttlSecondsAfterFinished", 0, MOST),
    ("KeyToPath", "mode", 0, MODE),
    ("MetricTarget", "averageUtilization", 1, MOST),
    ("NetworkPolicyPort", "endPort", 1, PORT),
    ("NetworkPolicyPort", "port", 1, PORT),
    ("PodSecurityContext", "fsGroup", 0, MOST),
    ("PodSecurityContext", "runAsGroup", 0, MOST),
    ("PodSecurityContext", "runAsUser", 0, MOST),
    ("PodSpec", "activeDeadlineSeconds", 1, MOST),
    ("PreferredSchedulingTerm", "weight", 1, 100),
    ("PriorityClass", "value", i32::MIN as i128, PRIORITY),
    ("Probe", "failureThreshold", 0, MOST),
    ("Probe", "initialDelaySeconds", 0, MOST),
    ("Probe", "periodSeconds", 0, MOST),
    ("Probe", "successThreshold", 0, MOST),
    (
        "Probe",
        "terminationGracePeriodSeconds",
        1,
        i64::MAX as i128,
    ),
    ("Probe", "timeoutSeconds", 0, MOST),
    ("ProjectedVolumeSource", "defaultMode", 0, MODE),
    ("ReplicaSetSpec", "minReadySeconds", 0, MOST),
    ("ReplicaSetSpec", "replicas", 0, MOST),
    ("ReplicationControllerSpec", "minReadySeconds", 0, MOST),
    ("ReplicationControllerSpec", "replicas", 0, MOST),
    ("RollingUpdateStatefulSetStrategy", "partition", 0, MOST),
    ("SecretVolumeSource", "defaultMode", 0, MODE),
    ("SecurityContext", "runAsGroup", 0, MOST),
    ("SecurityContext", "runAsUser", 0, MOST),
    (
        "ServiceAccountTokenProjection",
        "expirationSeconds",
        600,
        1 << 32,
    ),
    ("ServiceBackendPort", "number", 1, PORT),
    ("ServicePort", "nodePort", 0, PORT),
    ("ServicePort", "port", 1, PORT),
    ("ServicePort", "targetPort", 1, PORT),
    ("StatefulSetOrdinals", "start", 0, MOST),
    ("StatefulSetSpec", "minReadySeconds", 0, MOST),
    ("StatefulSetSpec", "replicas", 0, MOST),
    ("StatefulSetSpec", "revisionHistoryLimit", 0, MOST),
    ("TCPSocketAction", "port", 1, PORT),
    ("TopologySpreadConstraint", "maxSkew", 1, MOST),
    ("TopologySpreadConstraint", "minDomains", 1, MOST),
    ("WeightedPodAffinityTerm", "weight", 1, 100),
    (
        "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet.spec.leaderWorkerTemplate",
        "size",
        1,
        MOST,
    ),
    ("v1.HorizontalPodAutoscalerSpec", "maxReplicas", 1, MOST),
    ("v1.HorizontalPodAutoscalerSpec", "minReplicas", 0, MOST),
    (
        "v1.HorizontalPodAutoscalerSpec",
        "targetCPUUtilizationPercentage",
        1,
        MOST,
    ),
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.name;
    // Kubernetes' built-in classes have higher priorities.
    let class = ctx.node.get("metadata").and_then(|it| text(it, "name"));
    let is_free = name == "PriorityClass" && class.is_some_and(priority::is_kubernetes);
    let own = RANGES.iter().filter(|it| it.0 == name && !is_free);
    let own = own.map(|(_, field, least, most)| (*field, *least, *most));
    let of_custom = fields(name).iter().filter_map(|field| {
        let (least, most) = (field.limits.least, field.limits.most);
        let is_any = least.is_none() && most.is_none();
        let (least, most) = (least.unwrap_or(i128::MIN), most.unwrap_or(MOST));
        (!is_any).then_some((field.name, least, most))
    });
    for (field, least, most) in own.chain(of_custom) {
        let Some(Read::Whole(number)) = get(ctx.node, field).map(read) else {
            continue;
        };
        // Values that do not fit into the type are already reported.
        let is_too_large = number > MOST && most <= MOST;
        if !(least..=most).contains(&number) && !is_too_large {
            let (may_be, help) = range(least, most, number);
            ctx.refuse(
                [Step::from(field)],
                |path| format!("`{path}` is {number}, but must be {may_be}"),
                help,
            );
        }
    }
    threshold(ctx);
}

fn range(least: i128, most: i128, number: i128) -> (String, String) {
    if most == MODE {
        // File modes are usually written in octal, but YAML 1.2 and JSON read digits without a prefix as decimal.
        let meant = i128::from_str_radix(&number.to_string(), 8).ok();
        let meant = meant.filter(|meant| (0..=MODE).contains(meant));
        let help = match meant {
            Some(meant) => format!("write `{meant}`, which is {number} in octal digits"),
            None => "write a number up to 511, which is 777 in octal digits".to_owned(),
        };
        return ("between 0 and 511".to_owned(), help);
    }
    if most >= MOST {
        return (
            format!("{least} or more"),
            format!("write {least} or more, or remove it"),
        );
    }
    (
        format!("between {least} and {most}"),
        format!("write a number between {least} and {most}"),
    )
}

/// Liveness and startup probes succeed after one success.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateLivenessProbe` and `validateStartupProbe`.
fn threshold(ctx: &mut ObjectContext<'_, '_>) {
    let key = ctx.key().to_owned();
    if ctx.name != "Probe" || !["livenessProbe", "startupProbe"].contains(&key.as_str()) {
        return;
    }
    let Some(Read::Whole(number)) = get(ctx.node, "successThreshold").map(read) else {
        return;
    };
    if number > 1 {
        ctx.refuse(
            [Step::from("successThreshold")],
            |path| format!("`{path}` is {number}, but must be 1"),
            "remove it: only a readiness probe has another",
        );
    }
}

/// A number or a percentage: `2`, `25%`.
pub(super) fn share(node: &Node, key: &str) -> Option<i128> {
    match get(node, key).map(read) {
        Some(Read::Whole(number)) => Some(number),
        _ => percent(text(node, key)?),
    }
}

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePositiveIntOrPercent`.
pub(super) fn percent(text: &str) -> Option<i128> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}
