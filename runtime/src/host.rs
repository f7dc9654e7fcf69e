//! What the daemon finds in the node's files: device nodes, MIG's capabilities, sockets of helpers.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the daemon looks. In a container the host's folders are mounted; in a test they are made up.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Device nodes: `/dev`.
    pub dev: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// The driver as the daemon's container sees it: `/driver-root`.
    pub driver: PathBuf,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFiles {
    /// Device nodes that every container with a GPU needs, by path on the host: `/dev/nvidiactl`, `/dev/nvidia-uvm`.
    pub control_nodes: Vec<String>,
    /// The minor numbers of MIG's capabilities, by their path in `/proc/driver/nvidia-caps/mig-minors`: `gpu0/gi1/access`
    /// and `gpu0/gi1/ci0/access`.
    pub mig_minors: BTreeMap<String, u32>,
    /// The IMEX channels in `/dev/nvidia-caps-imex-channels`.
    pub imex_channels: Vec<u32>,
    /// Device nodes of GDRCopy, GPUDirect Storage and Mellanox, by path on the host.
    pub gdrcopy_nodes: Vec<String>,
    /// `/dev/nvidia-fs*`.
    pub gds_nodes: Vec<String>,
    /// `/dev/infiniband/*`.
    pub mofed_nodes: Vec<String>,
    /// What the machine is called (`/sys/class/dmi/id/product_name`), as it stands there.
    pub machine: Option<String>,
}
