//! Pods.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use super::meta::{Condition, Metadata, Timestamp};
use super::null_as_default;

/// Quantities by resource name, as written.
pub type ResourceList = BTreeMap<String, Quantity>;

/// A quantity: text, or a number in objects that were written by hand.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Quantity {
    /// A text such as `500m` or `4Gi`.
    Text(String),
    /// A number.
    Number(u64),
}

impl Quantity {
    /// The amount in thousandths; `None` if the text is not a quantity.
    pub fn thousandths(&self) -> Option<u64> {
        match self {
            Self::Text(text) => gpuc_schema::quantity::thousandths(text),
            Self::Number(number) => number.checked_mul(1000),
        }
    }

    /// The amount in whole units, rounded up; `None` if the text is not a quantity.
    pub fn units(&self) -> Option<u64> {
        Some(self.thousandths()?.div_ceil(1000))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// The metadata.
    pub metadata: Metadata,
    /// The specification.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodSpec,
    /// The status.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodStatus,
}

/// The specification of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node that runs the pod; empty while it is not scheduled.
    #[serde(deserialize_with = "null_as_default")]
    pub node_name: String,
    /// The node labels that it requires.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector: BTreeMap<String, String>,
    /// The affinity, as written.
    pub affinity: Option<Box<Value>>,
    /// The tolerations.
    #[serde(deserialize_with = "null_as_default")]
    pub tolerations: Vec<Toleration>,
    /// The containers.
    #[serde(deserialize_with = "null_as_default")]
    pub containers: Vec<Container>,
    /// The init containers, sidecars included.
    #[serde(deserialize_with = "null_as_default")]
    pub init_containers: Vec<Container>,
    /// The resources of the whole pod.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: Resources,
    /// The resources that the RuntimeClass adds.
    #[serde(deserialize_with = "null_as_default")]
    pub overhead: ResourceList,
    /// The gates that keep the scheduler from considering the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduling_gates: Vec<SchedulingGate>,
    /// The RuntimeClass; empty for the default.
    #[serde(deserialize_with = "null_as_default")]
    pub runtime_class_name: String,
    /// The PriorityClass.
    #[serde(deserialize_with = "null_as_default")]
    pub priority_class_name: String,
    /// The scheduler.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduler_name: String,
    /// The volumes that depend on other objects or on memory, as written: claims, and `emptyDir` with a medium.
    #[serde(deserialize_with = "volumes")]
    pub volumes: Vec<Value>,
    /// The ResourceClaims, as written.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_claims: Vec<Value>,
}

/// A scheduling gate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulingGate {
    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// A toleration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The key; empty for every key.
    #[serde(deserialize_with = "null_as_default")]
    pub key: String,
    /// `Exists` or `Equal`; empty is `Equal`.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: String,
    /// The value.
    #[serde(deserialize_with = "null_as_default")]
    pub value: String,
    /// The effect; empty for every effect.
    #[serde(deserialize_with = "null_as_default")]
    pub effect: String,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The image.
    #[serde(deserialize_with = "null_as_default")]
    pub image: String,
    /// The resources.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: Resources,
    /// The environment variables that configure GPUs and their networks.
    #[serde(deserialize_with = "variables")]
    pub env: Vec<EnvVar>,
    /// `Always` for sidecars among the init containers.
    #[serde(deserialize_with = "null_as_default")]
    pub restart_policy: String,
    /// The security context, as written.
    pub security_context: Option<Box<Value>>,
}

impl Container {
    /// Whether the container is privileged.
    pub fn is_privileged(&self) -> bool {
        let context = self.security_context.as_ref();
        context.is_some_and(|it| it["privileged"] == Value::Bool(true))
    }
}

/// An environment variable.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The value; `None` if it comes from another object, or if a snapshot omits it.
    pub value: Option<String>,
}

/// The resources of a container or a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// The requests.
    #[serde(deserialize_with = "null_as_default")]
    pub requests: ResourceList,
    /// The limits, which are also requests if those are not set.
    #[serde(deserialize_with = "null_as_default")]
    pub limits: ResourceList,
}

/// The status of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: String,
    /// The reason of the phase, such as `UnexpectedAdmissionError`.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// The message of the phase.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// The conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    /// The statuses of the containers.
    #[serde(deserialize_with = "null_as_default")]
    pub container_statuses: Vec<ContainerStatus>,
    /// The statuses of the init containers.
    #[serde(deserialize_with = "null_as_default")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// The node for which the scheduler evicts other pods; empty if it does not.
    #[serde(deserialize_with = "null_as_default")]
    pub nominated_node_name: String,
    /// The time at which the kubelet accepted the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub start_time: Option<Timestamp>,
}

/// The status of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// The container's name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Whether it passes its readiness probe; for init containers, whether it is done.
    #[serde(deserialize_with = "null_as_default")]
    pub ready: bool,
    /// The number of restarts.
    #[serde(deserialize_with = "null_as_default")]
    pub restart_count: u32,
    /// The state.
    #[serde(deserialize_with = "null_as_default")]
    pub state: ContainerState,
    /// The state before the last restart.
    #[serde(deserialize_with = "null_as_default")]
    pub last_state: ContainerState,
}

/// The state of a container; at most one field is set.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerState {
    /// It waits to start.
    pub waiting: Option<Waiting>,
    /// It ended.
    pub terminated: Option<Terminated>,
}

/// Why a container waits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Waiting {
    /// The reason, such as `CrashLoopBackOff`.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// The message.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
}

/// How a container ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminated {
    /// The reason, such as `OOMKilled`.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// The message.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// The exit code.
    #[serde(deserialize_with = "null_as_default")]
    pub exit_code: i64,
}

/// Reads a list item by item, and keeps those that pass: most variables and volumes would only take memory.
fn filtered<'de, D, T>(deserializer: D, keeps: fn(&T) -> bool) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Items<T>(fn(&T) -> bool);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = list.next_element()? {
                if (self.0)(&item) {
                    items.push(item);
                }
            }
            Ok(items)
        }
    }
    deserializer.deserialize_any(Items(keeps))
}

fn variables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EnvVar>, D::Error> {
    filtered(deserializer, |variable: &EnvVar| {
        is_gpu_variable(&variable.name)
    })
}

fn volumes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    filtered(deserializer, |volume: &Value| {
        let keys = ["persistentVolumeClaim", "ephemeral", "emptyDir"];
        keys.iter().any(|key| volume.get(key).is_some())
    })
}

/// The beginnings of the names of environment variables that configure GPUs and their networks.
const GPU_VARIABLES: &[&str] = &[
    "CUDA_",
    "FI_",
    "GPUC_",
    "MELLANOX_",
    "NCCL_",
    "NVIDIA_",
    "OMPI_",
    "UCX_",
];

/// The names of other such variables, of NVIDIA's device plugin.
///
/// Source: NVIDIA/k8s-device-plugin README.md, 2026-11-28.
const PLUGIN_VARIABLES: &[&str] = &[
    "CONFIG_FILE",
    "DEVICE_LIST_STRATEGY",
    "FAIL_ON_INIT_ERROR",
    "LD_LIBRARY_PATH",
    "MIG_STRATEGY",
    "MPS_ROOT",
    "PASS_DEVICE_SPECS",
];

/// Whether an environment variable configures GPUs or their networks, by its name.
pub(crate) fn is_gpu_variable(name: &str) -> bool {
    PLUGIN_VARIABLES.contains(&name) || GPU_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
}

impl Pod {
    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|it| it.kind == kind)
    }

    /// Whether the condition `Ready` is `True`.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(Condition::is_true)
    }

    /// Whether the pod has ended: it holds no resources.
    pub fn is_finished(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether the pod is not scheduled yet.
    pub fn is_unscheduled(&self) -> bool {
        self.spec.node_name.is_empty() && !self.is_finished()
    }

    /// All containers: init containers first.
    pub fn containers(&self) -> impl Iterator<Item = &Container> {
        let PodSpec {
            init_containers,
            containers,
            ..
        } = &self.spec;
        init_containers.iter().chain(containers)
    }

    /// The statuses of all containers: init containers first.
    pub fn container_statuses(&self) -> impl Iterator<Item = &ContainerStatus> {
        let PodStatus {
            init_container_statuses,
            container_statuses,
            ..
        } = &self.status;
        init_container_statuses.iter().chain(container_statuses)
    }
}
