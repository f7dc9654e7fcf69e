//! Fields with enumerated values.

use gpuc_syntax::diag::words::{all, nearest};
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, read};
use super::types::{defined_by, fields};

/// The values of each such field, by type and field.
///
/// Source: kubernetes `pkg/apis/{core,apps,batch,autoscaling,networking,policy,rbac,storage}/validation/validation.go`
/// (`NotSupported`), and the descriptions of the fields, against which `needs_upstream::api_types` checks this. Values
/// that only newer versions or feature gates allow are included.
pub static ENUMS: &[(&str, &str, &[&str])] = &[
    ("AppArmorProfile", "type", PROFILES),
    ("Container", "imagePullPolicy", PULL),
    ("Container", "restartPolicy", RESTART),
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
    ("DaemonSetUpdateStrategy", "type", UPDATES),
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
    ("ImageVolumeSource", "pullPolicy", PULL),
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
    ("PersistentVolumeClaimSpec", "accessModes", MODES),
    (
        "PersistentVolumeClaimSpec",
        "volumeMode",
        &["Filesystem", "Block"],
    ),
    ("PersistentVolumeSpec", "accessModes", MODES),
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
    ("PodSpec", "restartPolicy", RESTART),
    (
        "PriorityClass",
        "preemptionPolicy",
        &["PreemptLowerPriority", "Never"],
    ),
    ("ResourceQuotaSpec", "scopes", SCOPES),
    ("RoleRef", "kind", &["Role", "ClusterRole"]),
    (
        "ScopedResourceSelectorRequirement",
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist"],
    ),
    ("ScopedResourceSelectorRequirement", "scopeName", SCOPES),
    ("SeccompProfile", "type", PROFILES),
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
    ("StatefulSetUpdateStrategy", "type", UPDATES),
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
    ("TopologySpreadConstraint", "nodeAffinityPolicy", HONOR),
    ("TopologySpreadConstraint", "nodeTaintsPolicy", HONOR),
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

const HONOR: &[&str] = &["Honor", "Ignore"];
const MODES: &[&str] = &[
    "ReadWriteOnce",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOncePod",
];
const PROFILES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
const PULL: &[&str] = &["Always", "IfNotPresent", "Never"];
const RESTART: &[&str] = &["Always", "OnFailure", "Never"];
const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
const UPDATES: &[&str] = &["RollingUpdate", "OnDelete"];

/// Values that operators require, but that are not in their CRDs.
///
/// Sources: kubeflow/training-operator `pkg/apis/kubeflow.org/v1/common_types.go`, `CleanPodPolicy`, `RestartPolicy`
/// and the words of `managedBy` (from memory);
/// kubeflow/trainer@658725bd `manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml`, the rule of `managedBy`;
/// kubeflow/trainer@09d1f30a `pkg/webhooks/trainjob_webhook.go`, `ValidateCreate`, which refuses runtimes of kinds that
/// it does not register, and `pkg/runtime/core/registry.go` for these (from memory).
const OF_OPERATORS: &[(&str, &str, &[&str])] = &[
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
    let name = ctx.name;
    for (_, field, words) in ENUMS.iter().chain(OF_OPERATORS).filter(|it| it.0 == name) {
        // A LimitRange can be for extended resources, which have a domain.
        let is_theirs =
            |value: &Node| matches!(read(value), Read::Text(kind) if kind.contains('/'));
        if name == "LimitRangeItem" && get(ctx.node, field).is_some_and(is_theirs) {
            continue;
        }
        each(ctx, field, words);
    }
    for field in fields(name).iter().filter(|it| !it.limits.words.is_empty()) {
        let before = ctx.found.len();
        each(ctx, field.name, &field.limits.words);
        for found in &mut ctx.found[before..] {
            found.unknown_to = defined_by(name);
        }
    }
}

fn each(ctx: &mut ObjectContext<'_, '_>, field: &'static str, words: &[&str]) {
    let Some(value) = get(ctx.node, field) else {
        return;
    };
    one(ctx, vec![Step::from(field)], value, words);
    for (index, item) in value.items().iter().enumerate() {
        one(ctx, vec![Step::from(field), Step::Item(index)], item, words);
    }
}

fn one(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, value: &Node, words: &[&str]) {
    // An empty value selects the default.
    let Read::Text(text) = read(value) else {
        return;
    };
    if text.is_empty() || words.contains(&text) {
        return;
    }
    // Nearly all short words are similar: one with another first letter is not suggested.
    let begins = |word: &str| word.chars().next().map(|it| it.to_ascii_lowercase());
    let near = nearest(text, words.iter().copied())
        .filter(|near| near.len() > 4 || begins(near) == begins(text));
    let help = match near {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write {}", all(words, "or")),
    };
    let message = |path: &str| format!("`{path}` is `{text}`, but must be {}", all(words, "or"));
    ctx.refuse(below, message, help);
    ctx.meant(near.map(str::to_owned));
}
