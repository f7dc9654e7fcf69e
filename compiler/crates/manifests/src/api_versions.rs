//! The API versions of built-in Kubernetes kinds, and the known kinds of other projects.

use gpuc_syntax::diag::phrases::closest_match;

/// Built-in API groups with a domain. Groups without one are always built in.
const BUILT_IN_GROUPS: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// The API versions of kinds that every supported Kubernetes version serves, the preferred one first. Kinds with a beta
/// version in some Kubernetes versions are not included.
///
/// Source: kubernetes/website content/en/docs/reference/using-api/deprecation-guide.md (@6a6fc841, and what came after
/// it as <https://kubernetes.io/docs/reference/using-api/deprecation-guide/> has it, from memory).
const SERVED_VERSIONS: &[(&[&str], &[&str])] = &[
    (
        &["v1"],
        &[
            "ConfigMap",
            "LimitRange",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        &["apps/v1"],
        &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    ),
    (&["batch/v1"], &["CronJob", "Job"]),
    (
        &["autoscaling/v2", "autoscaling/v1"],
        &["HorizontalPodAutoscaler"],
    ),
    (&["policy/v1"], &["PodDisruptionBudget"]),
    // Removed in 1.25, without a direct replacement.
    (&[], &["PodSecurityPolicy"]),
    (
        &["networking.k8s.io/v1"],
        &["Ingress", "IngressClass", "NetworkPolicy"],
    ),
    (
        &["rbac.authorization.k8s.io/v1"],
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    (&["scheduling.k8s.io/v1"], &["PriorityClass"]),
    (
        &["storage.k8s.io/v1"],
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
    (&["node.k8s.io/v1"], &["RuntimeClass"]),
    (&["coordination.k8s.io/v1"], &["Lease"]),
    (&["discovery.k8s.io/v1"], &["EndpointSlice"]),
    (&["apiextensions.k8s.io/v1"], &["CustomResourceDefinition"]),
    (&["apiregistration.k8s.io/v1"], &["APIService"]),
    (
        &["admissionregistration.k8s.io/v1"],
        &[
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ],
    ),
    (
        &["flowcontrol.apiserver.k8s.io/v1"],
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
];

/// Removed versions whose objects have the same structure and meaning in the served one.
///
/// Source: the same guide, where it has no notable changes; `autoscaling/v2beta2` is `autoscaling/v2` (from memory).
const UNCHANGED_KINDS: &[(&str, &[&str])] = &[
    ("batch/v1beta1", &["CronJob"]),
    ("autoscaling/v2beta2", &["HorizontalPodAutoscaler"]),
    ("extensions/v1beta1", &["NetworkPolicy"]),
    ("networking.k8s.io/v1beta1", &["IngressClass"]),
    (
        "rbac.authorization.k8s.io/v1beta1",
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    ),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    (
        "storage.k8s.io/v1beta1",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
    ("coordination.k8s.io/v1beta1", &["Lease"]),
    ("apiregistration.k8s.io/v1beta1", &["APIService"]),
];

/// The served versions that replace an unserved API version, the preferred one first; `None` if the version is served,
/// or the kind is not built in.
pub(super) fn replacements(api_version: &str, kind: &str) -> Option<&'static [&'static str]> {
    let group = api_version.split_once('/').map_or("", |it| it.0);
    if group.contains('.') && !BUILT_IN_GROUPS.contains(&group) {
        return None;
    }
    let mut served = SERVED_VERSIONS.iter();
    let (versions, _) = served.find(|(_, kinds)| kinds.contains(&kind))?;
    (!versions.contains(&api_version)).then_some(*versions)
}

/// API groups whose kinds are all known.
///
/// Source: kubernetes `staging/src/k8s.io/api/apps/v1/register.go` and `batch/v1/register.go` (from memory).
const COMPLETE_GROUPS: &[(&str, &[&str])] = &[
    (
        "apps/v1",
        &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ],
    ),
    ("batch/v1", &["CronJob", "Job"]),
];

/// Known kinds of other projects. Another name may be an unknown kind, unless it nearly matches one of these.
///
/// Sources: the definitions of each project that gpuc's charts install, at their versions; ray-project/kuberay
/// `ray-operator/apis/ray/v1`; kubeflow/trainer release-1.9 `pkg/apis/kubeflow.org/v1`; volcano-sh/apis `pkg/apis`;
/// kserve/kserve `pkg/apis/serving` (from memory).
const PROJECT_KINDS: &[(&str, &[&str])] = &[
    ("batch.volcano.sh", &["Job"]),
    ("jobset.x-k8s.io", &["JobSet"]),
    (
        "kubeflow.org",
        &[
            "JAXJob",
            "MPIJob",
            "MXJob",
            "PaddleJob",
            "PyTorchJob",
            "TFJob",
            "XGBoostJob",
        ],
    ),
    (
        "kueue.x-k8s.io",
        &[
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "MultiKueueCluster",
            "MultiKueueConfig",
            "ProvisioningRequestConfig",
            "ResourceFlavor",
            "Topology",
            "Workload",
            "WorkloadPriorityClass",
        ],
    ),
    ("leaderworkerset.x-k8s.io", &["LeaderWorkerSet"]),
    (
        "ray.io",
        &["RayCluster", "RayCronJob", "RayJob", "RayService"],
    ),
    ("scheduling.volcano.sh", &["PodGroup", "Queue"]),
    (
        "serving.kserve.io",
        &[
            "ClusterServingRuntime",
            "InferenceGraph",
            "InferenceService",
            "ServingRuntime",
        ],
    ),
    (
        "sparkoperator.k8s.io",
        &[
            "ScheduledSparkApplication",
            "SparkApplication",
            "SparkConnect",
        ],
    ),
    (
        "trainer.kubeflow.org",
        &["ClusterTrainingRuntime", "TrainJob", "TrainingRuntime"],
    ),
];

/// The suggestion for an unknown kind.
pub(super) enum KindSuggestion {
    /// Certainly this one.
    Certain(&'static str),
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// The suggestion for a kind that its API group does not have.
pub(super) fn suggest_kind(api_version: &str, kind: &str) -> Option<KindSuggestion> {
    let group = api_version.split_once('/').map_or("", |it| it.0);
    let mut others = PROJECT_KINDS.iter();
    if let Some((_, kinds)) = others.find(|it| it.0 == group) {
        return closest_kind(kind, kinds).map(KindSuggestion::Certain);
    }
    if group.contains('.') && !BUILT_IN_GROUPS.contains(&group) {
        return None;
    }
    let all = SERVED_VERSIONS.iter().flat_map(|(_, kinds)| *kinds);
    let all: Vec<_> = all.copied().collect();
    if all.contains(&kind) {
        return None;
    }
    let mut closed = COMPLETE_GROUPS.iter();
    let closed = closed.find(|it| it.0 == api_version).map(|it| it.1);
    if closed.is_some_and(|kinds| kinds.contains(&kind)) {
        return None;
    }
    closed
        .and_then(|kinds| closest_kind(kind, kinds))
        .or_else(|| closest_kind(kind, &all))
        .map(KindSuggestion::Certain)
        .or_else(|| closed.map(KindSuggestion::OneOf))
}

/// The kind that this one is the plural of, or that differs in case or in a letter.
fn closest_kind(kind: &str, kinds: &[&'static str]) -> Option<&'static str> {
    // List kinds have this suffix.
    if kinds.contains(&kind) || kind.ends_with("List") {
        return None;
    }
    let plural = |it: &str| match it.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if it.ends_with('s') => format!("{it}es"),
        None => format!("{it}s"),
    };
    let is_same =
        |it: &&&str| kind.eq_ignore_ascii_case(it) || kind.eq_ignore_ascii_case(&plural(it));
    if let Some(same) = kinds.iter().find(is_same) {
        return Some(same);
    }
    let closest = closest_match(kind, kinds.iter().copied())?;
    // Short names, and names with one more word, may be other kinds.
    (kind.len() > 5 && closest.len().abs_diff(kind.len()) <= 1).then_some(closest)
}

/// Whether an object keeps its meaning in the served API version: the kind never had the written one, or nothing has
/// changed since.
pub(super) fn keeps_meaning(api_version: &str, kind: &str) -> bool {
    let is_prerelease = ["alpha", "beta"].iter().any(|it| api_version.contains(it));
    let mut same = UNCHANGED_KINDS.iter();
    !is_prerelease || same.any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_unique_and_of_known_groups() {
        let mut kinds: Vec<_> = SERVED_VERSIONS.iter().flat_map(|it| it.1).collect();
        let count = kinds.len();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds.len(), count);
        for version in SERVED_VERSIONS.iter().flat_map(|it| it.0) {
            let group = version.split_once('/').map_or("", |it| it.0);
            assert!(
                !group.contains('.') || BUILT_IN_GROUPS.contains(&group),
                "{version}"
            );
        }
        for (version, kinds) in UNCHANGED_KINDS {
            for kind in *kinds {
                assert!(replacements(version, kind).is_some(), "{version} {kind}");
            }
        }
    }

    #[test]
    fn other_groups_have_no_replacements() {
        assert_eq!(replacements("batch.volcano.sh/v1alpha1", "Job"), None);
        assert_eq!(replacements("serving.knative.dev/v1", "Service"), None);
        assert_eq!(
            replacements("autoscaling/v1", "HorizontalPodAutoscaler"),
            None
        );
        assert_eq!(replacements("apps/v1beta1", "Scale"), None);
        assert_eq!(replacements("v1", "Deployment"), Some(&["apps/v1"][..]));
        assert!(keeps_meaning("v1", "Deployment") && keeps_meaning("batch/v1beta1", "CronJob"));
        assert!(!keeps_meaning("extensions/v1beta1", "Deployment"));
    }

    #[test]
    fn misspelled_kinds_get_suggestions() {
        let meant = |api_version, kind| match suggest_kind(api_version, kind) {
            Some(KindSuggestion::Certain(meant)) => meant,
            Some(KindSuggestion::OneOf(_)) => "one of",
            None => "",
        };
        for (api_version, kind, expected) in [
            ("apps/v1", "Deployments", "Deployment"),
            ("apps/v1", "Deploymnet", "Deployment"),
            ("apps/v1", "StatefullSet", "StatefulSet"),
            ("apps/v1", "Foo", "one of"),
            ("apps/v1", "ControllerRevision", ""),
            ("apps/v1", "DeploymentList", "one of"),
            ("batch/v1", "Jobs", "Job"),
            ("batch/v1", "cronjob", "CronJob"),
            ("v1", "service", "Service"),
            ("v1", "Pods", "Pod"),
            ("v1", "Node", ""),
            ("v1", "Config", ""),
            ("v1", "Event", ""),
            ("networking.k8s.io/v1", "NetworkPolicies", "NetworkPolicy"),
            ("jobset.x-k8s.io/v1alpha2", "Jobset", "JobSet"),
            ("ray.io/v1", "RayClusters", "RayCluster"),
            ("ray.io/v1", "RayJob", ""),
            ("kubeflow.org/v1", "Notebook", ""),
            ("kubeflow.org/v1", "PytorchJob", "PyTorchJob"),
            ("kueue.x-k8s.io/v1beta2", "ClusterQueues", "ClusterQueue"),
            ("example.com/v1", "Jobs", ""),
        ] {
            assert_eq!(meant(api_version, kind), expected, "{api_version} {kind}");
        }
    }
}
