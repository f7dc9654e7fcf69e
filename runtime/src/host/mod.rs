//! What the daemon finds in the node's files: device nodes, MIG's capabilities, sockets of helpers.

mod pci;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use pci::{PciFacts, VgpuHost, sysfs_id};

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
    /// The folder on the host in whose `/dev` the driver's device nodes are: `/run/nvidia/driver`, where a driver
    /// container made them; empty where that is the host's own.
    pub dev_root: String,
    /// Device nodes that every container with a GPU needs, by path in `dev_root`: `/dev/nvidiactl`, `/dev/nvidia-uvm`.
    pub control_nodes: Vec<String>,
    /// The minor numbers of MIG's capabilities, by their path in `/proc/driver/nvidia-caps/mig-minors`:
    /// `gpu0/gi1/access` and `gpu0/gi1/ci0/access`.
    pub mig_minors: BTreeMap<String, u32>,
    /// The IMEX channels in `/dev/nvidia-caps-imex-channels`.
    pub imex_channels: Vec<u32>,
    /// GDRCopy's device node, by path in `dev_root`: `/dev/gdrdrv`.
    pub gdrcopy_nodes: Vec<String>,
    /// Device nodes of GPUDirect Storage in the host's own `/dev`: `/dev/nvidia-fs0`.
    pub gds_nodes: Vec<String>,
    /// Device nodes of network cards in the host's own `/dev`: `/dev/infiniband/uverbs0`.
    pub mofed_nodes: Vec<String>,
    /// What the machine is called (`/sys/class/dmi/id/product_name`), as it stands there.
    pub machine: Option<String>,
    /// What the PCI bus says of the GPUs, by the id that the driver gives them.
    pub pci: BTreeMap<String, PciFacts>,
}

impl HostFiles {
    /// Where the host has one of the driver's device nodes.
    pub fn on_host(&self, node: &str) -> String {
        format!("{}{node}", self.dev_root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::discover;
    use crate::nvml::fake::Fake;

    #[test]
    fn the_files_of_a_fake_machine_name_all_of_its_slices() {
        let folder = tempfile::tempdir().expect("a folder");
        let fake = Fake::machine("h100x2:mig=1g.10gb*7").expect("a machine");
        let roots = fake.write_roots(folder.path()).expect("files");
        let inventory = discover(&fake, &roots, None).expect("an inventory");
        let files = HostFiles::read(&roots, "/", &inventory);
        assert_eq!(files.control_nodes.len(), 3);
        for name in ["gpu0/gi7/access", "gpu1/gi13/ci0/access"] {
            assert!(files.mig_minors.contains_key(name), "{name}");
        }
        let mut minors: Vec<_> = files.mig_minors.values().collect();
        minors.sort_unstable();
        minors.dedup();
        assert_eq!(minors.len(), files.mig_minors.len());
    }
}
