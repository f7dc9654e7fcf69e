//! The parts of the configuration file of NVIDIA's device plugin that are the same for its own chart and the GPU
//! Operator.
//!
//! Source: NVIDIA/k8s-device-plugin@v0.20.0 `api/config/v1`. The plugin ignores keys that it does not know.

use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::Extra;

use crate::lower::injected_components;

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

/// The section for IMEX channels, with the only channel that the plugin can allocate (`api/config/v1/imex.go`). It is
/// not required, so that the plugin also runs on nodes without it.
pub(super) fn imex_section(pool: &Pool) -> Option<String> {
    let is_enabled = injected_components(pool).contains(&Extra::Imex);
    is_enabled.then(|| "imex:\n\x20 channelIDs: [0]\n\x20 required: false\n".to_owned())
}

/// The flag of the plugin that injects a component, which is also a value of the plugin's chart; `None` if the
/// component has a section.
pub(super) const fn component_flag(component: Extra) -> Option<&'static str> {
    match component {
        Extra::Gdrcopy => Some("gdrcopyEnabled"),
        Extra::Gds => Some("gdsEnabled"),
        Extra::Mofed => Some("mofedEnabled"),
        Extra::Imex => None,
    }
}
