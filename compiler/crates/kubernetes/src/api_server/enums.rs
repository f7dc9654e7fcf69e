//! Fields with enumerated values.

use gpuc_syntax::diag::phrases::{closest_match, quoted_conjunction};
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, parse_value};
use super::types::{defining_project, fields_of_type};

/// The values of each such field, by type and field.
///
/// Source: kubernetes `pkg/apis/{core,apps,batch,autoscaling,networking,policy,rbac,storage}/validation/validation.go`
/// (`NotSupported`), and the descriptions of the fields, against which `needs_upstream::api_types` checks this. Values
/// that only newer versions or feature gates allow are included.
pub static ENUMS: &[(&str, &str, &[&str])] = &[
    ("AppArmorProfile", "type", PROFILE_TYPES),
    ("Container", "imagePullPolicy", PULL_POLICIES),
    ("Container", "restartPolicy", RESTART_POLICIES),
    (
        "Container",
        "terminationMessagePolicy",
        &["File", "FallbackToLogsOnError"],
    ),
    ("ContainerPort", "protocol", PROTOCOLS),
    (
        "ContainerResizePolicy",
        "restartPolicy",
        &["NotRequired", "RestartContainer"],
    ),
    (
        "CronJobSpec",
        "concurrencyPolicy",
        &["Allow", "Forbid", "Replace"],
    ),
    ("DaemonSetUpdateStrategy", "type", UPDATE_STRATEGIES),
    ("DeploymentStrategy", "type", &["Recreate", "RollingUpdate"]),
    ("HPAScalingPolicy", "type", &["Pods", "Percent"]),
    (
        "HPAScalingRules",
        "selectPolicy",
        &["Max", "Min", "Disabled"],
    ),
    ("HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    (
        "HTTPIngressPath",
        "pathType",
        &["Exact", "Prefix", "ImplementationSpecific"],
    ),
    (
        "HostPathVolumeSource",
        "type",
        &[
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ],
    ),
    ("ImageVolumeSource", "pullPolicy", PULL_POLICIES),
    ("JobSpec", "completionMode", &["NonIndexed", "Indexed"]),
    (
        "JobSpec",
        "podReplacementPolicy",
        &["TerminatingOrFailed", "Failed"],
    ),
    (
        "LabelSelectorRequirement",
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist"],
    ),
    (
        "LimitRangeItem",
        "type",
        &["Container", "Pod", "PersistentVolumeClaim"],
    ),
    (
        "MetricSpec",
        "type",
        &[
            "ContainerResource",
            "External",
            "Object",
            "Pods",
            "Resource",
        ],
    ),
    (
        "MetricTarget",
        "type",
        &["Utilization", "Value", "AverageValue"],
    ),
    ("NetworkPolicyPort", "protocol", PROTOCOLS),
    ("NetworkPolicySpec", "policyTypes", &["Ingress", "Egress"]),
    (
        "NodeSelectorRequirement",
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    ),
    ("PersistentVolumeClaimSpec", "accessModes", ACCESS_MODES),
    (
        "PersistentVolumeClaimSpec",
        "volumeMode",
        &["Filesystem", "Block"],
    ),
    ("PersistentVolumeSpec", "accessModes", ACCESS_MODES),
    (
        "PersistentVolumeSpec",
        "persistentVolumeReclaimPolicy",
        &["Retain", "Delete", "Recycle"],
    ),
    (
        "PersistentVolumeSpec",
        "volumeMode",
        &["Filesystem", "Block"],
    ),
    (
        "PodDisruptionBudgetSpec",
        "unhealthyPodEvictionPolicy",
        &["IfHealthyBudget", "AlwaysAllow"],
    ),
    (
        "PodFailurePolicyOnExitCodesRequirement",
        "operator",
        &["In", "NotIn"],
    ),
    (
        "PodFailurePolicyRule",
        "action",
        &["FailJob", "FailIndex", "Ignore", "Count"],
    ),
    ("PodOS", "name", &["linux", "windows"]),
    (
        "PodSecurityContext",
        "fsGroupChangePolicy",
        &["OnRootMismatch", "Always"],
    ),
    (
        "PodSecurityContext",
        "seLinuxChangePolicy",
        &["MountOption", "Recursive"],
    ),
    (
        "PodSecurityContext",
        "supplementalGroupsPolicy",
        &["Merge", "Strict"],
    ),
    (
        "PodSpec",
        "dnsPolicy",
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    ),
    (
        "PodSpec",
        "preemptionPolicy",
        &["PreemptLowerPriority", "Never"],
    ),
    ("PodSpec", "restartPolicy", RESTART_POLICIES),
    (
        "PriorityClass",
        "preemptionPolicy",
        &["PreemptLowerPriority", "Never"],
    ),
    ("ResourceQuotaSpec", "scopes", QUOTA_SCOPES),
    ("RoleRef", "kind", &["Role", "ClusterRole"]),
    (
        "ScopedResourceSelectorRequirement",
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist"],
    ),
    (
        "ScopedResourceSelectorRequirement",
        "scopeName",
        QUOTA_SCOPES,
    ),
    ("SeccompProfile", "type", PROFILE_TYPES),
    ("SecurityContext", "procMount", &["Default", "Unmasked"]),
    ("ServicePort", "protocol", PROTOCOLS),
    (
        "ServiceSpec",
        "externalTrafficPolicy",
        &["Cluster", "Local"],
    ),
    (
        "ServiceSpec",
        "internalTrafficPolicy",
        &["Cluster", "Local"],
    ),
    (
        "ServiceSpec",
        "ipFamilyPolicy",
        &["SingleStack", "PreferDualStack", "RequireDualStack"],
    ),
    ("ServiceSpec", "sessionAffinity", &["ClientIP", "None"]),
    (
        "ServiceSpec",
        "type",
        &["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"],
    ),
    (
        "StatefulSetPersistentVolumeClaimRetentionPolicy",
        "whenDeleted",
        &["Retain", "Delete"],
    ),
    (
        "StatefulSetPersistentVolumeClaimRetentionPolicy",
        "whenScaled",
        &["Retain", "Delete"],
    ),
    (
        "StatefulSetSpec",
        "podManagementPolicy",
        &["OrderedReady", "Parallel"],
    ),
    ("StatefulSetUpdateStrategy", "type", UPDATE_STRATEGIES),
    ("StorageClass", "reclaimPolicy", &["Delete", "Retain"]),
    (
        "StorageClass",
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    ),
    ("Subject", "kind", &["ServiceAccount", "User", "Group"]),
    (
        "Toleration",
        "effect",
        &["NoSchedule", "PreferNoSchedule", "NoExecute"],
    ),
    ("Toleration", "operator", &["Exists", "Equal", "Lt", "Gt"]),
    (
        "TopologySpreadConstraint",
        "nodeAffinityPolicy",
        NODE_INCLUSION_POLICIES,
    ),
    (
        "TopologySpreadConstraint",
        "nodeTaintsPolicy",
        NODE_INCLUSION_POLICIES,
    ),
    (
        "TopologySpreadConstraint",
        "whenUnsatisfiable",
        &["DoNotSchedule", "ScheduleAnyway"],
    ),
    (
        "VolumeMount",
        "mountPropagation",
        &["None", "HostToContainer", "Bidirectional"],
    ),
    (
        "VolumeMount",
        "recursiveReadOnly",
        &["Disabled", "IfPossible", "Enabled"],
    ),
];

const NODE_INCLUSION_POLICIES: &[&str] = &["Honor", "Ignore"];
const ACCESS_MODES: &[&str] = &[
    "ReadWriteOnce",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOncePod",
];
const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
const QUOTA_SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
const UPDATE_STRATEGIES: &[&str] = &["RollingUpdate", "OnDelete"];

/// Values that operators require, but that are not in their CRDs.
///
/// Sources: kubeflow/training-operator `pkg/apis/kubeflow.org/v1/common_types.go`, `CleanPodPolicy`, `RestartPolicy`
/// and the words of `managedBy` (from memory);
/// kubeflow/trainer@658725bd `manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml`, the rule of `managedBy`;
/// kubeflow/trainer@09d1f30a `pkg/webhooks/trainjob_webhook.go`, `ValidateCreate`, which refuses runtimes of kinds that
/// it does not register, and `pkg/runtime/core/registry.go` for these (from memory).
const OPERATOR_ENUMS: &[(&str, &str, &[&str])] = &[
    (
        "kubeflow.org/v1/PyTorchJob.spec.pytorchReplicaSpecs",
        "restartPolicy",
        &["Always", "OnFailure", "Never", "ExitCode"],
    ),
    (
        "kubeflow.org/v1/PyTorchJob.spec.runPolicy",
        "cleanPodPolicy",
        &["All", "Running", "None"],
    ),
    (
        "kubeflow.org/v1/PyTorchJob.spec.runPolicy",
        "managedBy",
        &[
            "kubeflow.org/training-operator",
            "kueue.x-k8s.io/multikueue",
        ],
    ),
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec.runtimeRef",
        "apiGroup",
        &["trainer.kubeflow.org"],
    ),
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec.runtimeRef",
        "kind",
        &["ClusterTrainingRuntime", "TrainingRuntime"],
    ),
    (
        "trainer.kubeflow.org/v1alpha1/TrainJob.spec",
        "managedBy",
        &[
            "trainer.kubeflow.org/trainjob-controller",
            "kueue.x-k8s.io/multikueue",
        ],
    ),
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    for (_, field, words) in ENUMS.iter().chain(OPERATOR_ENUMS).filter(|it| it.0 == name) {
        // A LimitRange can be for extended resources, which have a domain.
        let is_qualified = |value: &Node| matches!(parse_value(value), ParsedValue::Text(kind) if kind.contains('/'));
        if name == "LimitRangeItem" && get_non_null(ctx.node, field).is_some_and(is_qualified) {
            continue;
        }
        check_field(ctx, field, words);
    }
    for field in fields_of_type(name)
        .iter()
        .filter(|it| !it.constraints.allowed_values.is_empty())
    {
        let reported_before = ctx.violations.len();
        check_field(ctx, field.name, &field.constraints.allowed_values);
        for found in &mut ctx.violations[reported_before..] {
            found.unknown_to_project = defining_project(name);
        }
    }
}

fn check_field(ctx: &mut ObjectContext<'_, '_>, field: &'static str, words: &[&str]) {
    let Some(value) = get_non_null(ctx.node, field) else {
        return;
    };
    check_value(ctx, vec![Step::from(field)], value, words);
    for (index, item) in value.items().iter().enumerate() {
        check_value(ctx, vec![Step::from(field), Step::Item(index)], item, words);
    }
}

fn check_value(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, value: &Node, words: &[&str]) {
    // An empty value selects the default.
    let ParsedValue::Text(text) = parse_value(value) else {
        return;
    };
    if text.is_empty() || words.contains(&text) {
        return;
    }
    // Nearly all short words are similar: one with another first letter is not suggested.
    let first_letter = |word: &str| word.chars().next().map(|it| it.to_ascii_lowercase());
    let closest = closest_match(text, words.iter().copied())
        .filter(|near| near.len() > 4 || first_letter(near) == first_letter(text));
    let help = match closest {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write {}", quoted_conjunction(words, "or")),
    };
    let message = |path: &str| {
        format!(
            "`{path}` is `{text}`, but must be {}",
            quoted_conjunction(words, "or")
        )
    };
    ctx.report(below, message, help);
    ctx.suggest(closest.map(str::to_owned));
}
