//! The parts of Kubernetes objects that gpuc reads.
//!
//! The types contain only what the checks need, so that the state of a large cluster fits in memory: a pod takes about
//! 2 KB. Every field may be absent or `null`, and fields that are not listed are ignored.

mod event;
mod meta;
mod node;
mod object;
mod pod;
mod workload;

pub use event::Event;
pub use meta::{Condition, Metadata, Owner, Timestamp};
pub use node::{Node, NodeInfo, NodeSpec, NodeStatus, NodeTaint};
pub use object::{Object, ObjectRef};
pub(crate) use pod::is_gpu_variable;
pub use pod::{
    Container, ContainerState, ContainerStatus, EnvVar, Pod, PodSpec, PodStatus, Quantity,
    ResourceList, Resources, SchedulingGate, Terminated, Toleration, Waiting,
};
pub use workload::{DaemonSet, DaemonSetSpec, DaemonSetStatus, PodTemplate};

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default. Encoders of Go write `null` for empty lists and unset times.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
