//! The node's files: device nodes, MIG capabilities, PCI information.

mod pci;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use pci::{PciFacts, VgpuHost, sysfs_id};

/// The directories to read. In a container, the host's directories are mounted; tests use temporary ones.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Device nodes: `/dev`.
    pub dev: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// The driver root, as seen by the daemon's container: `/driver-root`.
    pub driver: PathBuf,
}

/// The files of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFiles {
    /// The directory on the host whose `/dev` contains the driver's device nodes: `/run/nvidia/driver` if a driver
    /// container created them; empty for the host's own `/dev`.
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
    /// Device nodes of network adapters in the host's own `/dev`: `/dev/infiniband/uverbs0`.
    pub mofed_nodes: Vec<String>,
    /// The unmodified product name of the machine (`/sys/class/dmi/id/product_name`).
    pub machine: Option<String>,
    /// PCI information of the GPUs, by the PCI bus ID that the driver reports.
    pub pci: BTreeMap<String, PciFacts>,
}

impl HostFiles {
    /// Returns the path of a driver device node on the host.
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
    fn fake_roots_have_all_mig_devices() {
        let folder = tempfile::tempdir().expect("a folder");
        let fake = Fake::from_description("h100x2:mig=1g.10gb*7").expect("a machine");
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
