//! Resolution of GPU sharing; for MIG, including the placement of each MIG device.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;
use gpuc_schema::config::{GpuLayout, MigSharing, NodePool, Sharing as Written};
use gpuc_schema::gpu::placement::{self, Placement};
use gpuc_schema::gpu::{GpuModel, Mig, MigProfile};
use gpuc_syntax::diag::{Report, Reported, phrases};
use gpuc_syntax::source::Span;

use super::codes;
use crate::{MigGpu, PoolGpus, Resolved, Sharing};

/// Resolves the sharing of a pool.
pub(super) fn resolve(
    pool: &NodePool,
    gpus: &Resolved<Option<PoolGpus>>,
    report: &mut Report,
) -> Resolved<Sharing> {
    match &pool.sharing.value {
        Written::None => Resolved::Value(Sharing::Exclusive),
        Written::TimeSlicing(slicing) => Resolved::Value(Sharing::TimeSlicing {
            replicas: slicing.replicas,
            rename: slicing.rename.value,
        }),
        Written::Mps(mps) => Resolved::Value(Sharing::Mps {
            replicas: mps.replicas,
            rename: mps.rename.value,
        }),
        Written::Mig(written) => match gpus {
            Resolved::Value(Some(gpus)) => {
                match resolve_mig(written, pool.sharing.span, gpus, report) {
                    Ok(gpus) => Resolved::Value(Sharing::Mig {
                        strategy: written.strategy,
                        gpus,
                    }),
                    Err(reported) => Resolved::Unresolved(reported),
                }
            }
            // `sharing-without-gpus` reports it.
            Resolved::Value(None) => Resolved::Value(Sharing::Exclusive),
            Resolved::Unresolved(reported) => Resolved::Unresolved(*reported),
        },
    }
}

fn resolve_mig(
    written: &MigSharing,
    span: Span,
    gpus: &PoolGpus,
    report: &mut Report,
) -> Result<Vec<MigGpu>, Reported> {
    let Some(mig) = gpus.model.mig else {
        let message = format!("{} does not support MIG", gpus.model.key);
        return Err(report
            .diagnostic(&codes::MIG_UNSUPPORTED, span, message)
            .label(gpus.span, "the GPU model is set here")
            .help("share it with `timeSlicing` or `mps`")
            .emit());
    };
    let is_empty = written
        .per_gpu
        .iter()
        .flat_map(|entry| &entry.layout)
        .all(|devices| devices.count.value == 0);
    if is_empty {
        let message = "`sharing.mig` has no MIG devices";
        let names: Vec<_> = mig.profile_names().collect();
        let help = format!(
            "add a layout with at least one of {}",
            phrases::quoted_list(&names, 16)
        );
        return Err(report
            .diagnostic(&codes::MIG_LAYOUT_EMPTY, span, message)
            .help(help)
            .emit());
    }
    let mut by_index: BTreeMap<u32, Vec<Placement>> = BTreeMap::new();
    let mut failed = None;
    for entry in &written.per_gpu {
        let indexes = parse_indexes(entry, gpus.per_node, report);
        let placements = place_layout(entry, gpus, mig, report);
        match (indexes, placements) {
            (Ok(indexes), Ok(placements)) => {
                for index in indexes {
                    if by_index.insert(index, placements.clone()).is_some() {
                        failed = Some(report_duplicate(entry, index, report));
                    }
                }
            }
            (Err(reported), _) | (_, Err(reported)) => failed = Some(reported),
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    let gpu = |index| MigGpu {
        index,
        placements: by_index.remove(&index).unwrap_or_default(),
    };
    Ok((0..gpus.per_node).map(gpu).collect())
}

/// The placements of the MIG devices of one GPU.
fn place_layout(
    entry: &Spanned<GpuLayout>,
    gpus: &PoolGpus,
    mig: &Mig,
    report: &mut Report,
) -> Result<Vec<Placement>, Reported> {
    let mut requested: Vec<(&MigProfile, u32)> = Vec::new();
    let mut failed = None;
    for devices in &entry.layout {
        match mig.profile(&devices.profile) {
            Some(profile) => requested.push((profile, devices.count.value)),
            None => failed = Some(report_unsupported(&devices.profile, gpus, mig, report)),
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    placement::find_placement(mig, &requested).map_err(|error| {
        let first = &entry.layout[0].profile;
        let message = format!(
            "these MIG devices do not fit on one {}: {error}",
            gpus.model.key
        );
        report
            .diagnostic(&codes::MIG_LAYOUT_IMPOSSIBLE, first.span, message)
            .label(gpus.span, "the GPU model is set here")
            .help(partial_layout_help(mig, &requested))
            .emit()
    })
}

/// A help with the largest part of a layout that fits, and its diagram.
fn partial_layout_help(mig: &Mig, requested: &[(&'static MigProfile, u32)]) -> String {
    let mut fitting: Vec<(&MigProfile, u32)> = Vec::new();
    for (profile, count) in requested {
        let max_count = (1..=(*count).min(16)).rev().find(|count| {
            let mut candidate = fitting.clone();
            candidate.push((profile, *count));
            placement::find_placement(mig, &candidate).is_ok()
        });
        if let Some(count) = max_count {
            fitting.push((profile, count));
        }
    }
    let counts: Vec<_> = fitting
        .iter()
        .map(|(profile, count)| format!("{count} x {}", profile.name))
        .collect();
    match placement::find_placement(mig, &fitting) {
        Ok(placements) if !counts.is_empty() => format!(
            "{} fits: {}",
            counts.join(" + "),
            placement::diagram(&placements, mig)
        ),
        _ => "none of them fits".to_owned(),
    }
}

fn report_unsupported(
    profile: &Spanned<String>,
    gpus: &PoolGpus,
    mig: &Mig,
    report: &mut Report,
) -> Reported {
    let model: &GpuModel = gpus.model;
    let names: Vec<_> = mig.profile_names().collect();
    let message = format!("{} has no MIG profile `{profile}`", model.key);
    let builder = report
        .diagnostic(&codes::MIG_PROFILE_UNSUPPORTED, profile.span, message)
        .label(gpus.span, "the GPU model is set here");
    let supported = format!("supported profiles: {}", phrases::quoted_list(&names, 16));
    let builder = match phrases::closest_match(profile, names.iter().copied()) {
        Some(closest) => builder
            .help(format!("did you mean `{closest}`? {supported}"))
            .replace(profile.span, closest),
        None => builder.help(supported),
    };
    builder.emit()
}

/// Parses a list of indexes and ranges such as `0-3,6`.
fn parse_indexes(
    entry: &Spanned<GpuLayout>,
    per_node: u32,
    report: &mut Report,
) -> Result<Vec<u32>, Reported> {
    let Some(written) = &entry.gpus else {
        return Ok((0..per_node).collect());
    };
    let last = per_node.saturating_sub(1);
    let mut indexes = Vec::new();
    for part in written.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        match (from.trim().parse::<u32>(), to.trim().parse::<u32>()) {
            (Ok(from), Ok(to)) if from <= to && to < per_node => indexes.extend(from..=to),
            _ => {
                let message = format!("`{part}` is not an index or a range of GPUs of a node");
                let help =
                    format!("a node has GPUs 0 to {last}: write \"0-{last}\", or remove `gpus`");
                return Err(report
                    .diagnostic(&codes::MIG_GPUS_INVALID, written.span, message)
                    .help(help)
                    .emit());
            }
        }
    }
    Ok(indexes)
}

fn report_duplicate(entry: &Spanned<GpuLayout>, index: u32, report: &mut Report) -> Reported {
    let span = entry.gpus.as_ref().map_or(entry.span, |gpus| gpus.span);
    let message = format!("GPU {index} has two layouts");
    report
        .diagnostic(&codes::MIG_GPU_TWICE, span, message)
        .help("list each GPU in only one entry of `perGpu`")
        .emit()
}
