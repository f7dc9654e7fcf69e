//! Result types of the [`Cloud`](super::Cloud) trait.

use gpuc_schema::Span;

use crate::Pool;

/// The supported sizes of a disk, in GiB.
#[derive(Clone, Copy, Debug)]
pub struct DiskRange {
    /// The minimum size.
    pub min_gib: u32,
    /// The reason for the minimum, for messages.
    pub min_reason: &'static str,
    /// The maximum size.
    pub max_gib: u32,
    /// The reason for the maximum, for messages.
    pub max_reason: &'static str,
}

/// The disk of a node for images, the writable layers of containers, logs and `emptyDir` volumes.
#[derive(Clone, Copy, Debug)]
pub struct NodeDisk {
    /// Its size in bytes, including file system overhead and reservations: an upper bound for requests of pods.
    pub bytes: u64,
    /// The span that selects the disk or sets its size.
    pub span: Option<Span>,
}

impl NodeDisk {
    /// The boot disk of a pool.
    pub fn boot(pool: &Pool) -> Self {
        let disk = pool.settings.disk_gib;
        Self {
            bytes: u64::from(disk.value) << 30,
            span: disk.span.is_written().then_some(disk.span),
        }
    }
}

/// The reason that a pool's nodes have no network adapters for RDMA, or no networks for GPUDirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRdma {
    /// The reason, for messages.
    pub reason: String,
    /// The help of the diagnostic.
    pub help: &'static str,
}

/// A label that a cloud sets on nodes automatically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudLabel {
    /// Its key.
    pub key: &'static str,
    /// Its possible values: several if the nodes of a pool differ, none if no node has the label.
    pub values: Vec<String>,
    /// Whether every node has it. If false, a node may lack it.
    pub is_certain: bool,
    /// Whether `values` are prefixes.
    pub is_prefix: bool,
}

impl CloudLabel {
    /// A label of every node.
    pub fn certain(key: &'static str, value: impl Into<String>) -> Self {
        Self {
            key,
            values: vec![value.into()],
            is_certain: true,
            is_prefix: false,
        }
    }

    /// A label of every node whose value begins with one of these.
    pub(super) fn with_prefixes(key: &'static str, values: Vec<String>) -> Self {
        Self {
            key,
            values,
            is_certain: true,
            is_prefix: true,
        }
    }

    /// A label that has this value if a node has it.
    pub fn possible(key: &'static str, value: impl Into<String>) -> Self {
        Self {
            is_certain: false,
            ..Self::certain(key, value)
        }
    }

    /// A label that no node has.
    pub fn absent(key: &'static str) -> Self {
        Self {
            key,
            values: Vec::new(),
            is_certain: true,
            is_prefix: false,
        }
    }
}

/// How a cloud creates all nodes of a workload at once, on a request: the class of a ProvisioningRequest, and its
/// effects on the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvisioningClass {
    /// The class.
    pub name: &'static str,
    /// The label of the nodes that belong to a request.
    pub node_label: &'static str,
    /// The key of the label's value in the details that the cloud adds to the request.
    pub label_detail: &'static str,
    /// Parameters of the request.
    pub parameters: Vec<(&'static str, String)>,
}
