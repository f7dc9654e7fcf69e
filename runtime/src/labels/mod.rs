//! The node labels of GPU Feature Discovery, under the same names.
//!
//! Source: NVIDIA/k8s-device-plugin v0.20.0 (commit 1b826acc) `internal/lm`, read 2026-11 and compared with what it
//! writes. Two things differ: a GPU that does not respond does not affect the labels of the others, and several models
//! on one node always result in the same labels. In GPU Feature Discovery, the last model in a map wins, at random.
//! Here, the labels describe the model with the most GPUs, or the first by name of several such models. In addition,
//! gpuc's own label `gpuc.dev/gpu-model.<product>` has the count of each model.

mod gpus;
mod mig_devices;
mod value;

use std::collections::BTreeMap;

use gpuc_schema::node_config::NodeSharing;

use crate::device::Gpu;
use crate::nvml::{DriverInfo, GpuInfo};
use crate::state::State;
use gpus::Models;
use value::{to_label_value, truncate_value};

/// Builder of the labels. It makes every value valid.
#[derive(Default)]
struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Sets one of NVIDIA's labels.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "accepts numbers and strings, and each label is set once"
    )]
    fn set(&mut self, name: &str, value: impl ToString) {
        let value = truncate_value(&value.to_string());
        self.0.insert(format!("nvidia.com/{name}"), value);
    }
}

/// Returns the labels of a node. `now`, in seconds since 1970, sets the label with the time of creation; without it,
/// the labels change only if the node does.
pub fn node_labels(state: &State, now: Option<u64>) -> BTreeMap<String, String> {
    let mut labels = Labels::default();
    if let Some(now) = now {
        labels.set("gfd.timestamp", now);
    }
    set_driver_labels(&state.inventory.driver, &mut labels);
    let machine = state.files.machine.as_deref().map(to_label_value);
    let machine = machine.filter(|name| !name.is_empty());
    labels.set("gpu.machine", machine.as_deref().unwrap_or("unknown"));

    let gpus: Vec<&GpuInfo> = state.inventory.gpus.iter().filter_map(Gpu::info).collect();
    let models = Models::group_by_model(&gpus);
    gpus::set_gpu_labels(state, &gpus, &models, &mut labels);
    set_capability_labels(state, &gpus, &mut labels);
    if let NodeSharing::Mig { strategy, .. } = &state.config.sharing {
        labels.set("mig.strategy", strategy.as_str());
        mig_devices::set_mig_labels(*strategy, &gpus, &models, &mut labels);
    }
    set_vgpu_labels(state, &gpus, &mut labels);
    labels.0.extend(models.model_count_labels());
    labels.0
}

/// Sets both families of names: the current one, and the one that it replaces.
fn set_driver_labels(driver: &DriverInfo, labels: &mut Labels) {
    let parts: Vec<_> = driver.version.split('.').collect();
    if let [major, minor, rest @ ..] = parts.as_slice() {
        let revision = rest.first().copied().unwrap_or_default();
        labels.set("cuda.driver.major", major);
        labels.set("cuda.driver.minor", minor);
        labels.set("cuda.driver.rev", revision);
        labels.set("cuda.driver-version.major", major);
        labels.set("cuda.driver-version.minor", minor);
        labels.set("cuda.driver-version.revision", revision);
    }
    labels.set("cuda.driver-version.full", to_label_value(&driver.version));
    let (major, minor) = driver.cuda;
    labels.set("cuda.runtime.major", major);
    labels.set("cuda.runtime.minor", minor);
    labels.set("cuda.runtime-version.major", major);
    labels.set("cuda.runtime-version.minor", minor);
    labels.set("cuda.runtime-version.full", format!("{major}.{minor}"));
}

/// Sets the capabilities of the GPUs.
fn set_capability_labels(state: &State, gpus: &[&GpuInfo], labels: &mut Labels) {
    labels.set("mig.capable", gpus.iter().any(|gpu| gpu.mig.is_some()));
    // NVIDIA's feature discovery fails if a GPU of an MPS node is in MIG mode. Such a node does not support
    // MPS, and the label says so.
    let is_mps = matches!(state.config.sharing, NodeSharing::Mps { .. });
    let capable = is_mps && !gpus.iter().any(|gpu| gpus::has_mig_enabled(gpu));
    labels.set("mps.capable", capable);
    if let Some(clique) = common_clique(gpus) {
        labels.set("gpu.clique", clique);
    }
}

/// Returns the NVLink partition, if all GPUs are in the same one.
fn common_clique(gpus: &[&GpuInfo]) -> Option<String> {
    let first = gpus.first()?.clique.as_ref()?;
    let all_there = gpus.iter().all(|gpu| gpu.clique.as_ref() == Some(first));
    all_there.then(|| format!("{}.{}", first.cluster, first.id))
}

fn set_vgpu_labels(state: &State, gpus: &[&GpuInfo], labels: &mut Labels) {
    let mut facts = gpus
        .iter()
        .filter_map(|gpu| state.files.pci.get(&gpu.pci_bus_id));
    let host = facts.find_map(|facts| facts.vgpu.as_ref());
    labels.set("vgpu.present", host.is_some());
    if let Some(host) = host {
        labels.set("vgpu.host-driver-version", to_label_value(&host.version));
        labels.set("vgpu.host-driver-branch", to_label_value(&host.branch));
    }
}
