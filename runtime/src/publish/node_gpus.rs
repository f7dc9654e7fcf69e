//! The GPUs of the node as an annotation of the Node: what `gpuc doctor` cannot see from outside.

use std::collections::BTreeMap;

use gpuc_schema::node_state::{GPUS_ANNOTATION, NodeGpu, NodeGpus};
use tracing::warn;

use crate::device::Gpu;
use crate::nvml::GpuInfo;
use crate::state::State;

/// The annotations of the Node.
pub(super) fn annotations(state: &State) -> BTreeMap<String, String> {
    match serde_json::to_string(&node_gpus(state)) {
        Ok(text) => [(GPUS_ANNOTATION.to_owned(), text)].into(),
        Err(error) => {
            warn!("cannot describe the GPUs: {error}");
            BTreeMap::new()
        }
    }
}

fn node_gpus(state: &State) -> NodeGpus {
    let driver = &state.inventory.driver;
    let (major, minor) = driver.cuda;
    NodeGpus {
        driver: driver.version.clone(),
        cuda: format!("{major}.{minor}"),
        gpus: (state.inventory.gpus.iter())
            .map(|gpu| node_gpu(gpu, state))
            .collect(),
    }
}

fn node_gpu(gpu: &Gpu, state: &State) -> NodeGpu {
    match gpu {
        Gpu::Responding { info, .. } => NodeGpu {
            problem: problem(gpu, info, state),
            ..described(info)
        },
        Gpu::Unresponsive {
            index,
            last_info,
            error,
        } => NodeGpu {
            index: *index,
            problem: Some(error.to_string()),
            ..last_info.as_ref().map(described).unwrap_or_default()
        },
    }
}

/// The properties of a GPU.
fn described(info: &GpuInfo) -> NodeGpu {
    NodeGpu {
        index: info.index,
        uuid: info.uuid.clone(),
        model: info.name.clone(),
        pci: info.pci_bus_id.clone(),
        mig: info.mig.map(|mode| mode.enabled),
        needs_reset: info.mig.is_some_and(|mode| mode.enabled != mode.pending),
        profiles: info.slices.iter().map(|it| it.profile.clone()).collect(),
        clique: (info.clique.as_ref()).map(|it| format!("{}.{}", it.cluster, it.id)),
        problem: None,
    }
}

/// Why the GPU or its MIG devices are unhealthy.
fn problem(gpu: &Gpu, info: &GpuInfo, state: &State) -> Option<String> {
    let own = state.unhealthy.get(&gpu.id()).cloned();
    let slices = info.slices.iter().filter_map(|slice| {
        let cause = state.unhealthy.get(&slice.uuid)?;
        Some(format!("{}: {cause}", slice.uuid))
    });
    let problems: Vec<String> = own.into_iter().chain(slices).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::node_publisher::tests::state;
    use super::*;

    #[test]
    fn gpus_are_described_with_their_problems() {
        let mut state = state();
        let uuid = state.inventory.gpus[0].id();
        state.unhealthy = [(uuid.clone(), "Xid 79".to_owned())].into();
        let annotations = annotations(&state);
        let text = &annotations["gpuc.dev/gpus"];
        let read: NodeGpus = serde_json::from_str(text).unwrap();
        assert_eq!(read.driver, state.inventory.driver.version);
        assert_eq!(read.gpus.len(), 1);
        assert_eq!(read.gpus[0].uuid, uuid);
        assert_eq!(read.gpus[0].problem.as_deref(), Some("Xid 79"));
        assert!(read.cuda.contains('.'), "{text}");
    }
}
