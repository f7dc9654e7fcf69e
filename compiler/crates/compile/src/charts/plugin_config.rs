//! The parts of the configuration file of NVIDIA's device plugin that are the same for its own chart and the GPU
//! Operator.
//!
//! Source: NVIDIA/k8s-device-plugin@v0.20.0 `api/config/v1`. The plugin ignores keys that it does not know.

use gpuc_model::Sharing;

/// The section for GPU sharing, if replicas are advertised.
pub(super) fn sharing_section(sharing: &Sharing) -> Option<String> {
    let (strategy, replicas, rename) = match sharing {
        Sharing::TimeSlicing { replicas, rename } => ("timeSlicing", replicas.value, *rename),
        Sharing::Mps { replicas, rename } => ("mps", replicas.value, *rename),
        Sharing::Exclusive | Sharing::Mig { .. } => return None,
    };
    Some(format!(
        "sharing:\n\
         \x20 {strategy}:\n\
         \x20   renameByDefault: {rename}\n\
         \x20   failRequestsGreaterThanOne: true\n\
         \x20   resources:\n\
         \x20     - name: nvidia.com/gpu\n\
         \x20       replicas: {replicas}\n"
    ))
}
