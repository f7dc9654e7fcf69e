//! Labels of full GPUs: models, counts, and sharing.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::gpu::product;
use gpuc_schema::node_config::NodeSharing;

use super::Labels;
use super::value::{key_name, to_label_value, truncate_before_suffix};
use crate::nvml::GpuInfo;
use crate::state::State;

/// The GPU models of a node.
pub(super) struct Models<'i> {
    /// The GPUs of each model, by the driver's name of the model.
    gpus: BTreeMap<&'i str, Vec<&'i GpuInfo>>,
}

impl<'i> Models<'i> {
    /// Groups the GPUs by model.
    pub(super) fn group_by_model(gpus: &[&'i GpuInfo]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&GpuInfo>> = BTreeMap::new();
        for gpu in gpus {
            by_name.entry(&gpu.name).or_default().push(gpu);
        }
        Self { gpus: by_name }
    }

    /// Returns the model that the labels describe: the one with the most GPUs, or the first by name of several such
    /// models.
    pub(super) fn most_common(&self) -> Option<(&'i str, &[&'i GpuInfo])> {
        let mut chief: Option<(&'i str, &[&'i GpuInfo])> = None;
        for (name, gpus) in &self.gpus {
            if chief.is_none_or(|(_, largest)| gpus.len() > largest.len()) {
                chief = Some((name, gpus));
            }
        }
        chief
    }

    /// Returns a separate label with the count for each of several models: NVIDIA's labels describe only one.
    pub(super) fn model_count_labels(&self) -> BTreeMap<String, String> {
        if self.gpus.len() < 2 {
            return BTreeMap::new();
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (name, gpus) in &self.gpus {
            let name = key_name("gpu-model.", &product::from_driver_name(name));
            *counts.entry(format!("gpuc.dev/{name}")).or_default() += gpus.len();
        }
        let label = |(key, count): (String, usize)| (key, count.to_string());
        counts.into_iter().map(label).collect()
    }
}

/// Describes the model with the most GPUs.
pub(super) fn set_gpu_labels(
    state: &State,
    gpus: &[&GpuInfo],
    models: &Models<'_>,
    labels: &mut Labels,
) {
    labels.set("gpu.mode", pci_class_mode(state, gpus));
    let Some((name, most_common_gpus)) = models.most_common() else {
        return;
    };
    let Some(first) = most_common_gpus.first() else {
        return;
    };
    let are_partitioned = most_common_gpus.iter().all(|gpu| has_mig_enabled(gpu));
    let (replicas, strategy, suffix) = match sharing_properties(&state.config.sharing) {
        // A partitioned model is not advertised as full GPUs, regardless of the others.
        _ if are_partitioned => (0, "none", false),
        sharing => sharing,
    };
    let mut product = to_label_value(name);
    if suffix {
        product = truncate_before_suffix(&product, product::shared_label);
    }
    labels.set("gpu.product", product);
    labels.set("gpu.count", most_common_gpus.len());
    labels.set("gpu.replicas", replicas);
    labels.set("gpu.sharing-strategy", strategy);
    if let Some(bytes) = first.memory_bytes {
        labels.set("gpu.memory", bytes >> 20);
    }
    let (major, minor) = first.compute_capability;
    labels.set("gpu.family", architecture_name(first.compute_capability));
    labels.set("gpu.compute.major", major);
    labels.set("gpu.compute.minor", minor);
}

/// Whether a GPU is in MIG mode.
pub(super) fn has_mig_enabled(gpu: &GpuInfo) -> bool {
    gpu.mig.is_some_and(|mode| mode.enabled)
}

/// Returns the number of replicas, the strategy, and whether the product label names the strategy: it does not if the
/// resource name does.
fn sharing_properties(sharing: &NodeSharing) -> (u32, &'static str, bool) {
    match sharing {
        NodeSharing::TimeSlicing {
            replicas, rename, ..
        } if *replicas > 1 => (*replicas, "time-slicing", !rename),
        NodeSharing::Mps {
            replicas, rename, ..
        } if *replicas > 1 => (*replicas, "mps", !rename),
        _ => (1, "none", false),
    }
}

/// Returns the name of the architecture.
fn architecture_name((major, minor): (u32, u32)) -> &'static str {
    match (major, minor) {
        (5, _) => "maxwell",
        (6, _) => "pascal",
        (7, 0..=4) => "volta",
        (7, _) => "turing",
        (8, 0..=8) => "ampere",
        (8, _) => "ada-lovelace",
        (9, _) => "hopper",
        (10 | 12, _) => "blackwell",
        (13, _) => "rubin",
        _ => "undefined",
    }
}

/// Whether the GPUs are compute (3D controllers) or graphics devices, by PCI class; unknown if they differ.
fn pci_class_mode(state: &State, gpus: &[&GpuInfo]) -> &'static str {
    let class = |gpu: &&GpuInfo| state.files.pci.get(&gpu.pci_bus_id)?.class;
    let classes: BTreeSet<_> = gpus.iter().map(class).collect();
    match Vec::from_iter(classes)[..] {
        [Some(0x0302)] => "compute",
        [Some(0x0300)] => "graphics",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_schema::gpu::MODELS;

    #[test]
    fn families_match_the_catalog() {
        for model in MODELS {
            let capability = model.compute_capability;
            let numbers = (capability.major.into(), capability.minor.into());
            let family = architecture_name(numbers);
            assert_eq!(family, model.architecture.gfd_family(), "{}", model.key);
        }
    }

    #[test]
    fn families_have_correct_bounds() {
        for (capability, name) in [
            ((3, 5), "undefined"),
            ((5, 2), "maxwell"),
            ((7, 4), "volta"),
            ((7, 5), "turing"),
            ((8, 8), "ampere"),
            ((8, 9), "ada-lovelace"),
            ((11, 0), "undefined"),
            ((13, 0), "rubin"),
        ] {
            assert_eq!(architecture_name(capability), name);
        }
    }
}
