//! Labels of MIG devices.

use std::collections::BTreeMap;

use gpuc_schema::gpu::product;

use super::Labels;
use super::gpus::{Models, is_cut};
use super::value::{fitting, sanitised};
use gpuc_schema::config::MigStrategy;

use crate::device::{GPU, resource_of};
use crate::nvml::{GpuInfo, SliceInfo};

/// Describes the MIG devices as the strategy advertises them: as GPUs (`single`), or by profile in addition to GPUs
/// (`mixed`).
pub(super) fn describe(
    strategy: MigStrategy,
    gpus: &[&GpuInfo],
    models: &Models<'_>,
    labels: &mut Labels,
) {
    if !gpus.iter().any(|gpu| is_cut(gpu)) {
        return;
    }
    let mut groups: BTreeMap<String, Vec<(&GpuInfo, &SliceInfo)>> = BTreeMap::new();
    for gpu in gpus.iter().filter(|gpu| is_cut(gpu)) {
        for slice in &gpu.slices {
            if let Some(resource) = resource_of(slice, strategy) {
                groups.entry(resource).or_default().push((gpu, slice));
            }
        }
    }
    if strategy == MigStrategy::Single && !all_alike(gpus, groups.get(GPU)) {
        return invalid(models, labels);
    }
    for (resource, slices) in &groups {
        describe_group(resource, slices, labels);
    }
}

/// Whether the node satisfies `single`: every GPU has MIG devices, and all of them have the same attributes.
fn all_alike(gpus: &[&GpuInfo], slices: Option<&Vec<(&GpuInfo, &SliceInfo)>>) -> bool {
    let cut = gpus.iter().all(|gpu| is_cut(gpu) && !gpu.slices.is_empty());
    let Some([(_, first), rest @ ..]) = slices.map(Vec::as_slice) else {
        return false;
    };
    cut && rest
        .iter()
        .all(|(_, slice)| attributes(slice) == attributes(first))
}

fn invalid(models: &Models<'_>, labels: &mut Labels) {
    if let Some((name, _)) = models.most_common() {
        let product = sanitised(name);
        labels.set("gpu.product", fitting(&product, product::mig_invalid));
    }
    labels.set("gpu.count", 0);
    labels.set("gpu.replicas", 0);
    labels.set("gpu.memory", 0);
    labels.set("gpu.sharing-strategy", "");
}

/// Sets the labels of a resource whose devices are MIG devices. If they are on several GPU models, the labels name the
/// model with the most of them.
fn describe_group(resource: &str, slices: &[(&GpuInfo, &SliceInfo)], labels: &mut Labels) {
    let name = resource.trim_start_matches("nvidia.com/");
    let on: Vec<_> = slices.iter().map(|(gpu, _)| *gpu).collect();
    let models = Models::of(&on);
    let Some((card, _)) = models.most_common() else {
        return;
    };
    let slice = slices.iter().find(|(gpu, _)| gpu.name == card);
    let Some((_, slice)) = slice else { return };
    let with_profile = |card: &str| product::mig(card, &slice.profile);
    let product = fitting(&sanitised(card), with_profile);
    labels.set(&format!("{name}.product"), product);
    labels.set(&format!("{name}.count"), slices.len());
    labels.set(&format!("{name}.replicas"), 1);
    labels.set(&format!("{name}.sharing-strategy"), "none");
    for (attribute, value) in attributes(slice) {
        labels.set(&format!("{name}.{attribute}"), value);
    }
}

/// The attributes that MIG devices of one resource have in common.
fn attributes(slice: &SliceInfo) -> [(&'static str, u64); 9] {
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
