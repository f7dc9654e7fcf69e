//! Ranges of numbers.

use gpuc_syntax::node::Node;

use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, get_text, parse_value};
use super::types::fields_of_type;
use super::{ObjectContext, priority};

/// The largest 32-bit integer.
const MAX_INT32: i128 = i32::MAX as i128;

/// The highest port, and the file mode with all permissions.
const MAX_PORT: i128 = 65_535;
const MAX_FILE_MODE: i128 = 0o777;

/// The highest priority that users can set.
///
/// Source: kubernetes `pkg/apis/scheduling/types.go`, `HighestUserDefinablePriority`.
const MAX_USER_PRIORITY: i128 = 1_000_000_000;

/// The ranges of numbers, by type and field: minimum and maximum.
///
/// Sources: kubernetes `pkg/apis/core/validation/validation.go` (`validateContainerPorts`, `validateProbe`,
/// `ValidatePortNumOrName`, `ValidateNonnegativeField`, `validateTopologySpreadConstraints`, `ValidatePodSpec`,
/// `ValidateSecurityContext`, `validateKeyToPath`), `pkg/apis/apps/validation/validation.go`,
/// `pkg/apis/batch/validation/validation.go`, `pkg/apis/autoscaling/validation/validation.go`,
/// `pkg/apis/networking/validation/validation.go` and `pkg/apis/scheduling/validation/validation.go`; of sets
/// kubernetes-sigs/lws@01ebf9bc `pkg/webhooks/leaderworkerset_webhook.go`, `ValidateCreate`.
const RANGES: &[(&str, &str, i128, i128)] = &[
    ("ConfigMapVolumeSource", "defaultMode", 0, MAX_FILE_MODE),
    ("ContainerPort", "containerPort", 1, MAX_PORT),
    ("ContainerPort", "hostPort", 0, MAX_PORT),
    ("CronJobSpec", "failedJobsHistoryLimit", 0, MAX_INT32),
    (
        "CronJobSpec",
        "startingDeadlineSeconds",
        0,
        i64::MAX as i128,
    ),
    ("CronJobSpec", "successfulJobsHistoryLimit", 0, MAX_INT32),
    ("DaemonSetSpec", "minReadySeconds", 0, MAX_INT32),
    ("DaemonSetSpec", "revisionHistoryLimit", 0, MAX_INT32),
    ("DeploymentSpec", "minReadySeconds", 0, MAX_INT32),
    ("DeploymentSpec", "progressDeadlineSeconds", 0, MAX_INT32),
    ("DeploymentSpec", "replicas", 0, MAX_INT32),
    ("DeploymentSpec", "revisionHistoryLimit", 0, MAX_INT32),
    ("DownwardAPIVolumeSource", "defaultMode", 0, MAX_FILE_MODE),
    ("GRPCAction", "port", 1, MAX_PORT),
    ("HPAScalingPolicy", "periodSeconds", 1, 1800),
    ("HPAScalingPolicy", "value", 1, MAX_INT32),
    ("HPAScalingRules", "stabilizationWindowSeconds", 0, 3600),
    ("HTTPGetAction", "port", 1, MAX_PORT),
    ("HorizontalPodAutoscalerSpec", "maxReplicas", 1, MAX_INT32),
    ("HorizontalPodAutoscalerSpec", "minReplicas", 0, MAX_INT32),
    ("JobSpec", "activeDeadlineSeconds", 0, i64::MAX as i128),
    ("JobSpec", "backoffLimit", 0, MAX_INT32),
    ("JobSpec", "backoffLimitPerIndex", 0, MAX_INT32),
    ("JobSpec", "completions", 0, MAX_INT32),
    ("JobSpec", "maxFailedIndexes", 0, MAX_INT32),
    ("JobSpec", "parallelism", 0, MAX_INT32),
    ("JobSpec", "ttlSecondsAfterFinished", 0, MAX_INT32),
    ("KeyToPath", "mode", 0, MAX_FILE_MODE),
    ("MetricTarget", "averageUtilization", 1, MAX_INT32),
    ("NetworkPolicyPort", "endPort", 1, MAX_PORT),
    ("NetworkPolicyPort", "port", 1, MAX_PORT),
    ("PodSecurityContext", "fsGroup", 0, MAX_INT32),
    ("PodSecurityContext", "runAsGroup", 0, MAX_INT32),
    ("PodSecurityContext", "runAsUser", 0, MAX_INT32),
    ("PodSpec", "activeDeadlineSeconds", 1, MAX_INT32),
    ("PreferredSchedulingTerm", "weight", 1, 100),
    (
        "PriorityClass",
        "value",
        i32::MIN as i128,
        MAX_USER_PRIORITY,
    ),
    ("Probe", "failureThreshold", 0, MAX_INT32),
    ("Probe", "initialDelaySeconds", 0, MAX_INT32),
    ("Probe", "periodSeconds", 0, MAX_INT32),
    ("Probe", "successThreshold", 0, MAX_INT32),
    (
        "Probe",
        "terminationGracePeriodSeconds",
        1,
        i64::MAX as i128,
    ),
    ("Probe", "timeoutSeconds", 0, MAX_INT32),
    ("ProjectedVolumeSource", "defaultMode", 0, MAX_FILE_MODE),
    ("ReplicaSetSpec", "minReadySeconds", 0, MAX_INT32),
    ("ReplicaSetSpec", "replicas", 0, MAX_INT32),
    ("ReplicationControllerSpec", "minReadySeconds", 0, MAX_INT32),
    ("ReplicationControllerSpec", "replicas", 0, MAX_INT32),
    (
        "RollingUpdateStatefulSetStrategy",
        "partition",
        0,
        MAX_INT32,
    ),
    ("SecretVolumeSource", "defaultMode", 0, MAX_FILE_MODE),
    ("SecurityContext", "runAsGroup", 0, MAX_INT32),
    ("SecurityContext", "runAsUser", 0, MAX_INT32),
    (
        "ServiceAccountTokenProjection",
        "expirationSeconds",
        600,
        1 << 32,
    ),
    ("ServiceBackendPort", "number", 1, MAX_PORT),
    ("ServicePort", "nodePort", 0, MAX_PORT),
    ("ServicePort", "port", 1, MAX_PORT),
    ("ServicePort", "targetPort", 1, MAX_PORT),
    ("StatefulSetOrdinals", "start", 0, MAX_INT32),
    ("StatefulSetSpec", "minReadySeconds", 0, MAX_INT32),
    ("StatefulSetSpec", "replicas", 0, MAX_INT32),
    ("StatefulSetSpec", "revisionHistoryLimit", 0, MAX_INT32),
    ("TCPSocketAction", "port", 1, MAX_PORT),
    ("TopologySpreadConstraint", "maxSkew", 1, MAX_INT32),
    ("TopologySpreadConstraint", "minDomains", 1, MAX_INT32),
    ("WeightedPodAffinityTerm", "weight", 1, 100),
    (
        "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet.spec.leaderWorkerTemplate",
        "size",
        1,
        MAX_INT32,
    ),
    (
        "v1.HorizontalPodAutoscalerSpec",
        "maxReplicas",
        1,
        MAX_INT32,
    ),
    (
        "v1.HorizontalPodAutoscalerSpec",
        "minReplicas",
        0,
        MAX_INT32,
    ),
    (
        "v1.HorizontalPodAutoscalerSpec",
        "targetCPUUtilizationPercentage",
        1,
        MAX_INT32,
    ),
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    // Kubernetes' built-in classes have higher priorities.
    let class = ctx.node.get("metadata").and_then(|it| get_text(it, "name"));
    let is_system_class = name == "PriorityClass" && class.is_some_and(priority::is_system_class);
    let own = RANGES.iter().filter(|it| it.0 == name && !is_system_class);
    let own = own.map(|(_, field, min, max)| (*field, *min, *max));
    let of_custom = fields_of_type(name).iter().filter_map(|field| {
        let (min, max) = (field.constraints.min, field.constraints.max);
        let is_any = min.is_none() && max.is_none();
        let (min, max) = (min.unwrap_or(i128::MIN), max.unwrap_or(MAX_INT32));
        (!is_any).then_some((field.name, min, max))
    });
    for (field, min, max) in own.chain(of_custom) {
        let Some(ParsedValue::Integer(number)) = get_non_null(ctx.node, field).map(parse_value)
        else {
            continue;
        };
        // Values that do not fit into the type are already reported.
        let is_too_large = number > MAX_INT32 && max <= MAX_INT32;
        if !(min..=max).contains(&number) && !is_too_large {
            let (may_be, help) = describe_range(min, max, number);
            ctx.report(
                [Step::from(field)],
                |path| format!("`{path}` is {number}, but must be {may_be}"),
                help,
            );
        }
    }
    check_success_threshold(ctx);
}

fn describe_range(min: i128, max: i128, number: i128) -> (String, String) {
    if max == MAX_FILE_MODE {
        // File modes are usually written in octal, but YAML 1.2 and JSON read digits without a prefix as decimal.
        let meant = i128::from_str_radix(&number.to_string(), 8).ok();
        let meant = meant.filter(|meant| (0..=MAX_FILE_MODE).contains(meant));
        let help = match meant {
            Some(meant) => format!("write `{meant}`, which is {number} in octal digits"),
            None => "write a number up to 511, which is 777 in octal digits".to_owned(),
        };
        return ("between 0 and 511".to_owned(), help);
    }
    if max >= MAX_INT32 {
        return (
            format!("{min} or more"),
            format!("write {min} or more, or remove it"),
        );
    }
    (
        format!("between {min} and {max}"),
        format!("write a number between {min} and {max}"),
    )
}

/// Liveness and startup probes succeed after one success.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateLivenessProbe` and `validateStartupProbe`.
fn check_success_threshold(ctx: &mut ObjectContext<'_, '_>) {
    let key = ctx.key().to_owned();
    if ctx.type_name != "Probe" || !["livenessProbe", "startupProbe"].contains(&key.as_str()) {
        return;
    }
    let Some(ParsedValue::Integer(number)) =
        get_non_null(ctx.node, "successThreshold").map(parse_value)
    else {
        return;
    };
    if number > 1 {
        ctx.report(
            [Step::from("successThreshold")],
            |path| format!("`{path}` is {number}, but must be 1"),
            "remove it: only a readiness probe has another",
        );
    }
}

/// A number or a percentage: `2`, `25%`.
pub(super) fn int_or_percent(node: &Node, key: &str) -> Option<i128> {
    match get_non_null(node, key).map(parse_value) {
        Some(ParsedValue::Integer(number)) => Some(number),
        _ => parse_percent(get_text(node, key)?),
    }
}

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePositiveIntOrPercent`.
pub(super) fn parse_percent(text: &str) -> Option<i128> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}
