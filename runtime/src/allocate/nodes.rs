//! The device nodes of a GPU or a MIG device.

use super::AllocationError;
use crate::device::PhysicalDevice;
use crate::host::HostFiles;

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDeviceNode {
    /// The path that the driver's libraries use.
    pub path: String,
    /// The path on the host.
    pub host_path: String,
}

/// Returns the path of an IMEX channel, relative to the driver root.
pub fn imex_channel_path(number: u32) -> String {
    format!("/dev/nvidia-caps-imex-channels/channel{number}")
}

/// Returns nodes that the driver created.
pub fn driver_nodes(files: &HostFiles, paths: &[String]) -> Vec<HostDeviceNode> {
    let node = |path: &String| HostDeviceNode {
        path: path.clone(),
        host_path: files.on_host(path),
    };
    paths.iter().map(node).collect()
}

/// Returns nodes in the host's own `/dev`, regardless of the driver root.
pub fn host_nodes(paths: &[String]) -> Vec<HostDeviceNode> {
    let node = |path: &String| HostDeviceNode {
        path: path.clone(),
        host_path: path.clone(),
    };
    paths.iter().map(node).collect()
}

/// Returns the device nodes of a part: the GPU, and for a MIG device the nodes of its two instances.
pub fn nodes_of_device(
    files: &HostFiles,
    physical_device: PhysicalDevice<'_>,
) -> Result<Vec<HostDeviceNode>, AllocationError> {
    let mut paths = vec![format!("/dev/nvidia{}", physical_device.gpu().minor)];
    for capability in capability_paths(physical_device) {
        let Some(minor) = files.mig_minors.get(&capability) else {
            return Err(AllocationError::MissingCapability {
                uuid: physical_device.uuid().to_owned(),
                path: capability,
            });
        };
        paths.push(format!("/dev/nvidia-caps/nvidia-cap{minor}"));
    }
    Ok(driver_nodes(files, &paths))
}

/// Returns the capabilities of a MIG device, as in `/proc/driver/nvidia-caps/mig-minors`: its GPU instance and its
/// compute instance. The driver numbers GPUs by minor number there. A full GPU has none.
pub fn capability_paths(physical_device: PhysicalDevice<'_>) -> Vec<String> {
    match physical_device {
        PhysicalDevice::FullGpu(_) => Vec::new(),
        PhysicalDevice::MigDevice(gpu, mig_device) => vec![
            format!("gpu{}/gi{}/access", gpu.minor, mig_device.gi),
            format!(
                "gpu{}/gi{}/ci{}/access",
                gpu.minor, mig_device.gi, mig_device.ci
            ),
        ],
    }
}
