//! Reads the node's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{HostFiles, PciFacts, Roots};
use crate::allocate::capability_paths;
use crate::device::{Gpu, Inventory, PhysicalDevice};
use crate::nvml::GpuInfo;

/// Device nodes that every container with a GPU needs, if they exist.
const CONTROL_NODES: &[&str] = &[
    "nvidiactl",
    "nvidia-uvm",
    "nvidia-uvm-tools",
    "nvidia-modeset",
];

/// The device node that exists if the driver is loaded.
const DRIVER_LOADED_NODE: &str = "nvidiactl";

impl HostFiles {
    /// Reads all files of these GPUs. `host_root` is the driver root on the host. Missing files are not errors here:
    /// their users report them.
    pub fn read(roots: &Roots, host_root: &str, inventory: &Inventory) -> Self {
        let host_root = host_root.trim_end_matches('/');
        let (dev, dev_root) = driver_dev(roots, host_root);
        let host_dev = if host_root.is_empty() {
            roots.driver.join("dev")
        } else {
            roots.dev.clone()
        };
        let existing = |names: &[&str]| -> Vec<String> {
            let found = names.iter().filter(|name| dev.join(name).exists());
            found.map(|name| format!("/dev/{name}")).collect()
        };
        let gpus: Vec<_> = inventory.gpus.iter().filter_map(Gpu::info).collect();
        let pci = |gpu: &&GpuInfo| {
            let facts = PciFacts::read(&roots.sys, &gpu.pci_bus_id);
            (gpu.pci_bus_id.clone(), facts)
        };
        let mut mofed_nodes = list_nodes(&host_dev, "infiniband", "uverbs");
        mofed_nodes.extend(list_nodes(&host_dev, "infiniband", "rdma_cm"));
        Self {
            control_nodes: existing(CONTROL_NODES),
            mig_minors: read_mig_minors(&roots.proc, &gpus),
            imex_channels: read_imex_channels(&dev),
            gdrcopy_nodes: existing(&["gdrdrv"]),
            gds_nodes: list_nodes(&host_dev, "", "nvidia-fs"),
            mofed_nodes,
            machine: read_machine_name(&roots.sys),
            pci: gpus.iter().map(pci).collect(),
            dev_root,
        }
    }
}

/// Returns the directory of the driver's device nodes, and the prefix of that `/dev` on the host. Below the driver
/// root, the daemon sees the host's nodes; in its own `/dev`, it sees only its own nodes unless it is privileged.
fn driver_dev(roots: &Roots, host_root: &str) -> (PathBuf, String) {
    let below_driver = roots.driver.join("dev");
    if below_driver.join(DRIVER_LOADED_NODE).exists() {
        return (below_driver, host_root.to_owned());
    }
    (roots.dev.clone(), String::new())
}

/// Lists the nodes in a directory of `/dev` whose names have this prefix.
fn list_nodes(dev: &Path, folder: &str, start: &str) -> Vec<String> {
    let names = sorted_names(&dev.join(folder)).into_iter();
    let names = names.filter(|name| name.starts_with(start));
    let path = |name| match folder {
        "" => format!("/dev/{name}"),
        _ => format!("/dev/{folder}/{name}"),
    };
    names.map(path).collect()
}

fn read_imex_channels(dev: &Path) -> Vec<u32> {
    let names = sorted_names(&dev.join("nvidia-caps-imex-channels")).into_iter();
    let numbers = names.filter_map(|name| name.strip_prefix("channel")?.parse().ok());
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// Reads the minor numbers of the existing MIG devices. The file has thousands, one for each possible device.
fn read_mig_minors(proc: &Path, gpus: &[&GpuInfo]) -> BTreeMap<String, u32> {
    let wanted: Vec<_> = gpus
        .iter()
        .flat_map(|gpu| {
            gpu.slices
                .iter()
                .map(|mig_device| PhysicalDevice::MigDevice(gpu, mig_device))
        })
        .flat_map(capability_paths)
        .collect();
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let file = proc.join("driver/nvidia-caps/mig-minors");
    let text = fs::read_to_string(file).unwrap_or_default();
    let all: BTreeMap<_, _> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let minor = |path: String| {
        let minor = all.get(path.as_str())?.trim().parse().ok()?;
        Some((path, minor))
    };
    wanted.into_iter().filter_map(minor).collect()
}

fn read_machine_name(sys: &Path) -> Option<String> {
    let text = fs::read_to_string(sys.join("class/dmi/id/product_name")).ok()?;
    let name = text.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Lists the names in a directory, sorted; empty if it does not exist.
fn sorted_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Topology;
    use crate::nvml::{DriverInfo, Engines, MigDeviceInfo};

    fn write_file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn roots(folder: &Path) -> Roots {
        Roots {
            dev: folder.join("dev"),
            proc: folder.join("proc"),
            sys: folder.join("sys"),
            driver: folder.join("driver-root"),
        }
    }

    fn inventory() -> Inventory {
        let mig_device = MigDeviceInfo {
            index: 0,
            uuid: "MIG-1".to_owned(),
            gi: 7,
            ci: 0,
            profile: "1g.5gb".to_owned(),
            place: None,
            memory_mib: 4_864,
            multiprocessors: 14,
            gi_slices: 1,
            ci_slices: 1,
            engines: Engines::default(),
        };
        let info = GpuInfo {
            index: 0,
            uuid: "GPU-1".to_owned(),
            minor: 3,
            name: "NVIDIA A100-SXM4-40GB".to_owned(),
            pci_bus_id: "00000000:3B:00.0".to_owned(),
            pci_id: 0x20B0_10DE,
            memory_bytes: None,
            compute_capability: (8, 0),
            mig: None,
            slices: vec![mig_device],
            clique: None,
        };
        Inventory {
            driver: DriverInfo {
                version: "570.86.15".to_owned(),
                cuda: (12, 8),
            },
            gpus: vec![Gpu::Responding { info, numa: None }],
            topology: Topology::default(),
        }
    }

    #[test]
    fn all_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for node in [
            "nvidiactl",
            "nvidia-uvm",
            "nvidia3",
            "gdrdrv",
            "nvidia-fs0",
            "infiniband/uverbs0",
            "infiniband/issm0",
            "nvidia-caps-imex-channels/channel10",
            "nvidia-caps-imex-channels/channel9",
        ] {
            write_file(&at("driver-root/dev").join(node), "");
        }
        let minors = "config 1\nmonitor 2\ngpu3/gi7/access 471\ngpu3/gi7/ci0/access 472\n\
                      gpu3/gi8/access 480\n";
        write_file(&at("proc/driver/nvidia-caps/mig-minors"), minors);
        write_file(&at("sys/class/dmi/id/product_name"), "a2-highgpu-8g\n");
        write_file(&at("sys/bus/pci/devices/0000:3b:00.0/class"), "0x030200\n");
        let files = HostFiles::read(&roots(folder.path()), "/", &inventory());
        let minors = [("gpu3/gi7/access", 471), ("gpu3/gi7/ci0/access", 472)];
        let minors = minors.map(|(path, minor)| (path.to_owned(), minor));
        assert_eq!(files.control_nodes, ["/dev/nvidiactl", "/dev/nvidia-uvm"]);
        assert_eq!(files.mig_minors, BTreeMap::from(minors));
        assert_eq!(files.imex_channels, [9, 10]);
        assert_eq!(files.gdrcopy_nodes, ["/dev/gdrdrv"]);
        assert_eq!(files.gds_nodes, ["/dev/nvidia-fs0"]);
        assert_eq!(files.mofed_nodes, ["/dev/infiniband/uverbs0"]);
        assert_eq!(files.machine.as_deref(), Some("a2-highgpu-8g"));
        assert_eq!(files.pci["00000000:3B:00.0"].class, Some(0x0302));
        assert_eq!(files.dev_root, "");
    }

    #[test]
    fn driver_container_has_its_own_nodes() {
        let folder = tempfile::tempdir().unwrap();
        write_file(&folder.path().join("driver-root/dev/nvidiactl"), "");
        write_file(&folder.path().join("dev/nvidia-fs0"), "");
        let roots = roots(folder.path());
        let files = HostFiles::read(&roots, "/run/nvidia/driver", &inventory());
        assert_eq!(files.dev_root, "/run/nvidia/driver");
        assert_eq!(
            files.on_host("/dev/nvidia3"),
            "/run/nvidia/driver/dev/nvidia3"
        );
        // These nodes are on the host, even if a driver container created the driver's nodes.
        assert_eq!(files.gds_nodes, ["/dev/nvidia-fs0"]);
    }

    #[test]
    fn root_without_nodes_uses_own_dev() {
        let folder = tempfile::tempdir().unwrap();
        write_file(&folder.path().join("dev/nvidiactl"), "");
        let roots = roots(folder.path());
        let files = HostFiles::read(&roots, "/home/kubernetes/bin/nvidia", &inventory());
        assert_eq!(files.control_nodes, ["/dev/nvidiactl"]);
        assert_eq!(files.dev_root, "");
        let empty = tempfile::tempdir().unwrap();
        let nothing = HostFiles::read(&self::roots(empty.path()), "/", &inventory());
        assert!(nothing.control_nodes.is_empty() && nothing.mig_minors.is_empty());
    }
}
