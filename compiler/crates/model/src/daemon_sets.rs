//! The requests of the DaemonSets that gpuc deploys to nodes.

use crate::cloud::reserved::{MIB, Reserved};

/// A `DaemonSet` that gpuc deploys to nodes, with the requests of each of its pods.
#[derive(Clone, Debug)]
pub struct DaemonSetRequests {
    /// The name, without the pool.
    pub name: &'static str,
    /// The requests of a pod.
    pub requests: Reserved,
}

impl DaemonSetRequests {
    /// A `DaemonSet` with requests in thousandths of a core and MiB.
    pub fn new(name: &'static str, (cpu, mib): (u64, u64)) -> Self {
        let memory = mib * MIB;
        let asks = Reserved { cpu, memory };
        Self {
            name,
            requests: asks,
        }
    }
}
