//! Kubernetes' own types read the generated objects without loss.

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    ConfigMap, LimitRange, Namespace, PersistentVolume, PersistentVolumeClaim, ResourceQuota,
    Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::corpus::cases;

/// Reads a text with a Kubernetes type and serializes it again.
type Reader = fn(&str) -> Result<Value, String>;

/// Every built-in kind of Kubernetes that gpuc generates.
const KINDS: &[(&str, &str, Reader)] = &[
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        round_trip::<ValidatingAdmissionPolicy>,
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        round_trip::<ValidatingAdmissionPolicyBinding>,
    ),
    ("apps/v1", "DaemonSet", round_trip::<DaemonSet>),
    ("apps/v1", "Deployment", round_trip::<Deployment>),
    ("apps/v1", "StatefulSet", round_trip::<StatefulSet>),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        round_trip::<HorizontalPodAutoscaler>,
    ),
    ("batch/v1", "CronJob", round_trip::<CronJob>),
    ("batch/v1", "Job", round_trip::<Job>),
    (
        "policy/v1",
        "PodDisruptionBudget",
        round_trip::<PodDisruptionBudget>,
    ),
    ("v1", "LimitRange", round_trip::<LimitRange>),
    (
        "v1",
        "PersistentVolumeClaim",
        round_trip::<PersistentVolumeClaim>,
    ),
    ("v1", "Service", round_trip::<Service>),
    ("rbac.authorization.k8s.io/v1", "Role", round_trip::<Role>),
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        round_trip::<RoleBinding>,
    ),
    (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        round_trip::<PriorityClass>,
    ),
    ("node.k8s.io/v1", "RuntimeClass", round_trip::<RuntimeClass>),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        round_trip::<ClusterRole>,
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        round_trip::<ClusterRoleBinding>,
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        round_trip::<NetworkPolicy>,
    ),
    ("v1", "ConfigMap", round_trip::<ConfigMap>),
    ("v1", "Namespace", round_trip::<Namespace>),
    // k8s-openapi has the types of the oldest supported Kubernetes, which lacks DeviceClass. `needs_upstream` checks
    // it.
    ("resource.k8s.io/v1", "DeviceClass", round_trip::<Value>),
    ("resource.k8s.io/v1", "ResourceClaim", round_trip::<Value>),
    (
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        round_trip::<Value>,
    ),
    ("v1", "PersistentVolume", round_trip::<PersistentVolume>),
    ("v1", "ResourceQuota", round_trip::<ResourceQuota>),
    ("v1", "ServiceAccount", round_trip::<ServiceAccount>),
    (
        "storage.k8s.io/v1",
        "StorageClass",
        round_trip::<StorageClass>,
    ),
];

fn round_trip<T: DeserializeOwned + Serialize>(yaml: &str) -> Result<Value, String> {
    let typed: T = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

/// Groups of custom resources, for which k8s-openapi has no types. `needs_upstream::kubernetes` checks them against
/// their definitions.
const CUSTOM: &[&str] = &[
    "compute.coreweave.com/",
    "jobset.x-k8s.io/",
    "karpenter.k8s.aws/",
    "karpenter.sh/",
    "kubeflow.org/",
    "kueue.x-k8s.io/",
    "leaderworkerset.x-k8s.io/",
    "networking.gke.io/",
    "mellanox.com/",
    "monitoring.coreos.com/",
    "nvidia.com/",
    "resource.nvidia.com/",
    "trainer.kubeflow.org/",
];

fn reader(api_version: &str, kind: &str) -> Reader {
    let row = KINDS
        .iter()
        .find(|row| (row.0, row.1) == (api_version, kind));
    row.unwrap_or_else(|| panic!("{api_version} {kind} has no row in KINDS"))
        .2
}

#[test]
fn typed_objects_lose_no_field() {
    for case in cases() {
        for object in &case.plan().objects {
            let identity = &object.identity;
            if CUSTOM.iter().any(|it| identity.api_version.starts_with(it)) {
                continue;
            }
            let meant = serde_json::to_value(&object.node).unwrap();
            let read = reader(&identity.api_version, &identity.kind);
            let read = read(&gpuc_syntax::yaml::to_yaml(&object.node));
            assert_eq!(read.as_ref(), Ok(&meant), "{}: {identity:?}", case.name);
        }
    }
}

#[test]
fn unknown_fields_would_be_lost() {
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, lables: {a: b}}\n";
    let read = reader("v1", "Namespace")(text).unwrap();
    let meant: Value = serde_yaml::from_str(text).unwrap();
    assert_ne!(read, meant);
}
