//! The configuration file of NVIDIA's device plugin, as far as its own chart and the GPU Operator's write it alike.
//!
//! Source: NVIDIA/k8s-device-plugin@v0.20.0 `api/config/v1`. The plugin ignores keys that it does not know.

use crate::model::Sharing;

/// The section that says how GPUs are shared, where replicas of them are offered.
pub(super) fn sharing(sharing: &Sharing) -> Option<String> {
    let (way, replicas, rename) = match sharing {
        Sharing::TimeSlicing { replicas, rename } => ("timeSlicing", replicas.value, *rename),
        Sharing::Mps { replicas, rename } => ("mps", replicas.value, *rename),
        Sharing::Exclusive | Sharing::Mig { .. } => return None,
    };
    Some(format!(
        "sharing:\n\
         \x20 {way}:\n\
         \x20   renameByDefault: {rename}\n\
         \x20   failRequestsGreaterThanOne: true\n\
         \x20   resources:\n\
         \x20     - name: nvidia.com/gpu\n\
         \x20       replicas: {replicas}\n"
    ))
}
