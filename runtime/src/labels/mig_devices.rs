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
        for slice in &gpu.slices {
            if let Some(resource) = resource_for(slice, strategy) {
                groups.entry(resource).or_default().push((gpu, slice));
            }
        }
    }
    if strategy == MigStrategy::Single && !are_uniform(gpus, groups.get(GPU)) {
        return set_invalid_labels(models, labels);
    }
    for (resource, slices) in &groups {
        set_resource_labels(resource, slices, labels);
    }
}

/// Whether the node satisfies `single`: every GPU has MIG devices, and all of them have the same attributes.
fn are_uniform(gpus: &[&GpuInfo], slices: Option<&Vec<(&GpuInfo, &MigDeviceInfo)>>) -> bool {
    let cut = gpus
        .iter()
        .all(|gpu| has_mig_enabled(gpu) && !gpu.slices.is_empty());
    let Some([(_, first), rest @ ..]) = slices.map(Vec::as_slice) else {
        return false;
    };
    cut && rest
        .iter()
        .all(|(_, slice)| attribute_labels(slice) == attribute_labels(first))
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
fn set_resource_labels(resource: &str, slices: &[(&GpuInfo, &MigDeviceInfo)], labels: &mut Labels) {
    let name = resource.trim_start_matches("nvidia.com/");
    let gpus_with_slices: Vec<_> = slices.iter().map(|(gpu, _)| *gpu).collect();
    let models = Models::group_by_model(&gpus_with_slices);
    let Some((card, _)) = models.most_common() else {
        return;
    };
    let slice = slices.iter().find(|(gpu, _)| gpu.name == card);
    let Some((_, slice)) = slice else { return };
    let with_profile = |card: &str| product::mig_label(card, &slice.profile);
    let product = truncate_before_suffix(&to_label_value(card), with_profile);
    labels.set(&format!("{name}.product"), product);
    labels.set(&format!("{name}.count"), slices.len());
    labels.set(&format!("{name}.replicas"), 1);
    labels.set(&format!("{name}.sharing-strategy"), "none");
    for (attribute, value) in attribute_labels(slice) {
        labels.set(&format!("{name}.{attribute}"), value);
    }
}

/// The attributes that MIG devices of one resource have in common.
fn attribute_labels(slice: &MigDeviceInfo) -> [(&'static str, u64); 9] {
    let engines = slice.engines;
    [
        ("memory", slice.memory_mib),
        ("multiprocessors", slice.multiprocessors.into()),
        ("slices.gi", slice.gi_slices.into()),
        ("slices.ci", slice.ci_slices.into()),
        ("engines.copy", engines.copy.into()),
        ("engines.decoder", engines.decoder.into()),
        ("engines.encoder", engines.encoder.into()),
        ("engines.jpeg", engines.jpeg.into()),
        ("engines.ofa", engines.ofa.into()),
    ]
}
