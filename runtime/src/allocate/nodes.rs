//! Which device nodes open a GPU or a MIG device.

use super::Refusal;
use crate::device::Part;
use crate::host::HostFiles;

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where the driver's libraries look for it.
    pub path: String,
    /// Where the host has it.
    pub host_path: String,
}

/// An IMEX channel, by its path in the driver's root.
pub fn channel(number: u32) -> String {
    format!("/dev/nvidia-caps-imex-channels/channel{number}")
}

/// Nodes that the driver made.
pub fn driver_nodes(files: &HostFiles, paths: &[String]) -> Vec<Node> {
    let node = |path: &String| Node {
        path: path.clone(),
        host_path: files.on_host(path),
    };
    paths.iter().map(node).collect()
}

/// Nodes that are in the host's own `/dev`, whoever made the driver's.
pub fn host_nodes(paths: &[String]) -> Vec<Node> {
    let node = |path: &String| Node {
        path: path.clone(),
        host_path: path.clone(),
    };
    paths.iter().map(node).collect()
}

/// The device nodes of a part: the GPU, and for a MIG device what opens its two instances.
pub fn part_nodes(files: &HostFiles, part: Part<'_>) -> Result<Vec<Node>, Refusal> {
    let mut paths = vec![format!("/dev/nvidia{}", part.gpu().minor)];
    for capability in capability_paths(part) {
        let Some(minor) = files.mig_minors.get(&capability) else {
            return Err(Refusal::NoCapability {
                part: part.uuid().to_owned(),
                path: capability,
            });
        };
        paths.push(format!("/dev/nvidia-caps/nvidia-cap{minor}"));
    }
    Ok(driver_nodes(files, &paths))
}

/// The capabilities of a MIG device, as `/proc/driver/nvidia-caps/mig-minors` calls them: its GPU instance and its
/// compute instance. The driver counts GPUs by the minor number of their node there. A whole GPU has none.
pub fn capability_paths(part: Part<'_>) -> Vec<String> {
    match part {
        Part::Whole(_) => Vec::new(),
        Part::Slice(gpu, slice) => vec![
            format!("gpu{}/gi{}/access", gpu.minor, slice.gi),
            format!("gpu{}/gi{}/ci{}/access", gpu.minor, slice.gi, slice.ci),
        ],
    }
}
