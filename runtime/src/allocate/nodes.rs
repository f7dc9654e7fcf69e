//! Which device nodes open a GPU or a MIG device.

use super::Refusal;
use crate::device::Part;
use crate::host::HostFiles;

/// The IMEX channel that containers get.
pub(super) const CHANNEL: &str = "/dev/nvidia-caps-imex-channels/channel0";

/// The device nodes of a part, by their path on the host: the GPU, and for a MIG device what opens its two instances.
pub fn part_nodes(files: &HostFiles, part: Part<'_>) -> Result<Vec<String>, Refusal> {
    let mut nodes = vec![format!("/dev/nvidia{}", part.gpu().minor)];
    for path in capability_paths(part) {
        let Some(minor) = files.mig_minors.get(&path) else {
            return Err(Refusal::NoCapability {
                part: part.uuid().to_owned(),
                path,
            });
        };
        nodes.push(format!("/dev/nvidia-caps/nvidia-cap{minor}"));
    }
    Ok(nodes)
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
