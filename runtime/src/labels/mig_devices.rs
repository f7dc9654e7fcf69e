//! Labels of MIG devices.

use std::collections::BTreeMap;

use gpuc_schema::gpu::product;

use super::Labels;
use super::gpus::{Models, has_mig_enabled};
use super::value::{to_label_value, truncate_before_suffix};
use gpuc_schema::config::MigStrategy;

use crate::device::{GPU, resource_for};
use crate::nvml::{GpuInfo, MigDeviceInfo};

/// Describes the MIG devices as the strategy advertises them: as GPUs (`single`), or by profile in addition to GPUs
/// (`mixed`).
pub(super) fn set_mig_labels(
    strategy: MigStrategy,
    gpus: &[&GpuInfo],
    models: &Models<'_>,
    labels: &mut Labels,
) {
    if !gpus.iter().any(|gpu| has_mig_enabled(gpu)) {
        return;
    }
    let mut groups: BTreeMap<String, Vec<(&GpuInfo, &MigDeviceInfo)>> = BTreeMap::new();
    for gpu in gpus.iter().filter(|gpu| has_mig_enabled(gpu)) {
        for mig_device in &gpu.slices {
            if let Some(resource) = resource_for(mig_device, strategy) {
                groups.entry(resource).or_default().push((gpu, mig_device));
            }
        }
    }
    if strategy == MigStrategy::Single && !are_uniform(gpus, groups.get(GPU)) {
        return set_invalid_labels(models, labels);
    }
    for (resource, mig_devices) in &groups {
        set_resource_labels(resource, mig_devices, labels);
    }
}

/// Whether the node satisfies `single`: every GPU has MIG devices, and all of them have the same attributes.
fn are_uniform(gpus: &[&GpuInfo], mig_devices: Option<&Vec<(&GpuInfo, &MigDeviceInfo)>>) -> bool {
    let are_partitioned = gpus
        .iter()
        .all(|gpu| has_mig_enabled(gpu) && !gpu.slices.is_empty());
    let Some([(_, first), rest @ ..]) = mig_devices.map(Vec::as_slice) else {
        return false;
    };
    are_partitioned
        && rest
            .iter()
            .all(|(_, mig_device)| attribute_labels(mig_device) == attribute_labels(first))
}

fn set_invalid_labels(models: &Models<'_>, labels: &mut Labels) {
    if let Some((name, _)) = models.most_common() {
        let product = to_label_value(name);
        labels.set(
            "gpu.product",
            truncate_before_suffix(&product, product::invalid_mig_label),
        );
    }
    labels.set("gpu.count", 0);
    labels.set("gpu.replicas", 0);
    labels.set("gpu.memory", 0);
    labels.set("gpu.sharing-strategy", "");
}

/// Sets the labels of a resource whose devices are MIG devices. If they are on several GPU models, the labels name the
/// model with the most of them.
fn set_resource_labels(
    resource: &str,
    mig_devices: &[(&GpuInfo, &MigDeviceInfo)],
    labels: &mut Labels,
) {
    let name = resource.trim_start_matches("nvidia.com/");
    let gpus_with_slices: Vec<_> = mig_devices.iter().map(|(gpu, _)| *gpu).collect();
    let models = Models::group_by_model(&gpus_with_slices);
    let Some((model, _)) = models.most_common() else {
        return;
    };
    let mig_device = mig_devices.iter().find(|(gpu, _)| gpu.name == model);
    let Some((_, mig_device)) = mig_device else {
        return;
    };
    let with_profile = |model: &str| product::mig_label(model, &mig_device.profile);
    let product = truncate_before_suffix(&to_label_value(model), with_profile);
    labels.set(&format!("{name}.product"), product);
    labels.set(&format!("{name}.count"), mig_devices.len());
    labels.set(&format!("{name}.replicas"), 1);
    labels.set(&format!("{name}.sharing-strategy"), "none");
    for (attribute, value) in attribute_labels(mig_device) {
        labels.set(&format!("{name}.{attribute}"), value);
    }
}

/// The attributes that MIG devices of one resource have in common.
fn attribute_labels(mig_device: &MigDeviceInfo) -> [(&'static str, u64); 9] {
    let engines = mig_device.engines;
    [
        ("memory", mig_device.memory_mib),
        ("multiprocessors", mig_device.multiprocessors.into()),
        ("slices.gi", mig_device.gi_slices.into()),
        ("slices.ci", mig_device.ci_slices.into()),
        ("engines.copy", engines.copy.into()),
        ("engines.decoder", engines.decoder.into()),
        ("engines.encoder", engines.encoder.into()),
        ("engines.jpeg", engines.jpeg.into()),
        ("engines.ofa", engines.ofa.into()),
    ]
}
