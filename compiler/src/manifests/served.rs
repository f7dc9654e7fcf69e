//! The API versions that Kubernetes serves its own kinds by, and the kinds of others that are known.

use crate::diag::words::nearest;

/// Groups of Kubernetes' own that have a domain; a group without one is always its own.
const GROUPS: &[&str] = &[
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

/// The API versions of kinds that every supported Kubernetes serves, the best first. Kinds of which some versions of
/// Kubernetes serve a beta are not among them.
///
/// Source: kubernetes/website content/en/docs/reference/using-api/deprecation-guide.md (@6a6fc841, and what came after
/// it as <https://kubernetes.io/docs/reference/using-api/deprecation-guide/> has it, from memory).
const SERVED: &[(&[&str], &[&str])] = &[
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
    // 1.25 removed it, and nothing of its form took its place.
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

/// Versions of before whose objects are of the same shape, and mean the same, in the one that is served.
///
/// Source: the same guide, where it has no notable changes; `autoscaling/v2beta2` is `autoscaling/v2` (from memory).
const SAME: &[(&str, &[&str])] = &[
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

/// What serves a kind in place of an API version that nothing serves, the best first; nothing where the version is
/// served, or the kind is not Kubernetes' own.
pub(super) fn instead(api_version: &str, kind: &str) -> Option<&'static [&'static str]> {
    let group = api_version.split_once('/').map_or("", |it| it.0);
    if group.contains('.') && !GROUPS.contains(&group) {
        return None;
    }
    let mut served = SERVED.iter();
    let (versions, _) = served.find(|(_, kinds)| kinds.contains(&kind))?;
    (!versions.contains(&api_version)).then_some(*versions)
}

/// Groups whose kinds are all known, and will not become more.
///
/// Source: kubernetes `staging/src/k8s.io/api/apps/v1/register.go` and `batch/v1/register.go` (from memory).
const CLOSED: &[(&str, &[&str])] = &[
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

/// Kinds of other groups, those that nobody makes pods of among them: what is called otherwise may be one that is not
/// known here, unless it is nearly one of these.
///
/// Sources: the definitions of each project that gpuc's charts install, at their versions; ray-project/kuberay
/// `ray-operator/apis/ray/v1`; kubeflow/trainer release-1.9 `pkg/apis/kubeflow.org/v1`; volcano-sh/apis `pkg/apis`;
/// kserve/kserve `pkg/apis/serving` (from memory).
const OF_OTHERS: &[(&str, &[&str])] = &[
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

/// A kind that is not there, and what is meant.
pub(super) enum Misspelt {
    /// For sure this one.
    As(&'static str),
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// What is meant by a kind that its group does not have.
pub(super) fn spelled(api_version: &str, kind: &str) -> Option<Misspelt> {
    let group = api_version.split_once('/').map_or("", |it| it.0);
    let mut others = OF_OTHERS.iter();
    if let Some((_, kinds)) = others.find(|it| it.0 == group) {
        return nearly(kind, kinds).map(Misspelt::As);
    }
    if group.contains('.') && !GROUPS.contains(&group) {
        return None;
    }
    let all = SERVED.iter().flat_map(|(_, kinds)| *kinds);
    let all: Vec<_> = all.copied().collect();
    if all.contains(&kind) {
        return None;
    }
    let mut closed = CLOSED.iter();
    let closed = closed.find(|it| it.0 == api_version).map(|it| it.1);
    if closed.is_some_and(|kinds| kinds.contains(&kind)) {
        return None;
    }
    let near = closed.and_then(|kinds| nearly(kind, kinds));
    let near = near.or_else(|| nearly(kind, &all));
    near.map(Misspelt::As)
        .or_else(|| closed.map(Misspelt::OneOf))
}

/// The kind of which this is the plural, or that has other large letters, or another letter.
fn nearly(kind: &str, kinds: &[&'static str]) -> Option<&'static str> {
    // Kinds that are lists end so.
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
    let near = nearest(kind, kinds.iter().copied())?;
    // Of short words, and of those that are longer by a word, there may be more.
    (kind.len() > 5 && near.len().abs_diff(kind.len()) <= 1).then_some(near)
}

/// Whether an object stays what it is with the API version that is served: it never was of the written one, or nothing
/// has changed since.
pub(super) fn stays(api_version: &str, kind: &str) -> bool {
    let was_one = ["alpha", "beta"].iter().any(|it| api_version.contains(it));
    let mut same = SAME.iter();
    !was_one || same.any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_stands_once_in_groups_that_are_known() {
        let mut kinds: Vec<_> = SERVED.iter().flat_map(|it| it.1).collect();
        let count = kinds.len();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds.len(), count);
        for version in SERVED.iter().flat_map(|it| it.0) {
            let group = version.split_once('/').map_or("", |it| it.0);
            assert!(!group.contains('.') || GROUPS.contains(&group), "{version}");
        }
        for (version, kinds) in SAME {
            for kind in *kinds {
                assert!(instead(version, kind).is_some(), "{version} {kind}");
            }
        }
    }

    #[test]
    fn what_others_serve_is_not_judged() {
        assert_eq!(instead("batch.volcano.sh/v1alpha1", "Job"), None);
        assert_eq!(instead("serving.knative.dev/v1", "Service"), None);
        assert_eq!(instead("autoscaling/v1", "HorizontalPodAutoscaler"), None);
        assert_eq!(instead("apps/v1beta1", "Scale"), None);
        assert_eq!(instead("v1", "Deployment"), Some(&["apps/v1"][..]));
        assert!(stays("v1", "Deployment") && stays("batch/v1beta1", "CronJob"));
        assert!(!stays("extensions/v1beta1", "Deployment"));
    }

    #[test]
    fn kinds_are_misspelt_where_no_other_may_be_meant() {
        let meant = |api_version, kind| match spelled(api_version, kind) {
            Some(Misspelt::As(meant)) => meant,
            Some(Misspelt::OneOf(_)) => "one of",
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
