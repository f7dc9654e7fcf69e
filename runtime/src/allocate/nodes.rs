//! The device nodes of a GPU or a MIG device.

use super::Refusal;
use crate::device::Part;
use crate::host::HostFiles;

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The path that the driver's libraries use.
    pub path: String,
    /// The path on the host.
    pub host_path: String,
}

/// Returns the path of an IMEX channel, relative to the driver root.
pub fn channel(number: u32) -> String {
    format!("/dev/nvidia-caps-imex-channels/channel{number}")
}

/// Returns nodes that the driver created.
pub fn driver_nodes(files: &HostFiles, paths: &[String]) -> Vec<Node> {
    let node = |path: &String| Node {
        path: path.clone(),
        host_path: files.on_host(path),
    };
    paths.iter().map(node).collect()
}

/// Returns nodes in the host's own `/dev`, regardless of the driver root.
pub fn host_nodes(paths: &[String]) -> Vec<Node> {
    let node = |path: &String| Node {
        path: path.clone(),
        host_path: path.clone(),
    };
    paths.iter().map(node).collect()
}

/// Returns the device nodes of a part: the GPU, and for a MIG device the nodes of its two instances.
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

/// Returns the capabilities of a MIG device, as in `/proc/driver/nvidia-caps/mig-minors`: its GPU instance and its
/// compute instance. The driver numbers GPUs by minor number there. A full GPU has none.
pub fn capability_paths(part: Part<'_>) -> Vec<String> {
    match part {
        Part::Whole(_) => Vec::new(),
        Part::Slice(gpu, slice) => vec![
            format!("gpu{}/gi{}/access", gpu.minor, slice.gi),
            format!("gpu{}/gi{}/ci{}/access", gpu.minor, slice.gi, slice.ci),
        ],
    }
}
