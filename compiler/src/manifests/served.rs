//! The API versions that Kubernetes serves its own kinds by.

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

/// The kind of Kubernetes' own that is meant by the same letters, where others of them are large.
pub(super) fn spelled(api_version: &str, kind: &str) -> Option<&'static str> {
    let group = api_version.split_once('/').map_or("", |it| it.0);
    if group.contains('.') && !GROUPS.contains(&group) {
        return None;
    }
    let mut kinds = SERVED.iter().flat_map(|(_, kinds)| *kinds);
    let meant = kinds.find(|it| it.eq_ignore_ascii_case(kind))?;
    (*meant != kind).then_some(*meant)
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
}
