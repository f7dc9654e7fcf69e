//! How a pool's GPUs are shared; for MIG, where each slice lies.

use std::collections::BTreeMap;

use gpuc_schema::Spanned;
use gpuc_schema::config::{GpuLayout, MigSharing, NodePool, Sharing as Written};
use gpuc_schema::gpu::placement::{self, Placement};
use gpuc_schema::gpu::{GpuModel, Mig, MigProfile};

use super::codes;
use crate::diag::{Report, Reported, words};
use crate::model::{Known, MigGpu, PoolGpus, Sharing};
use crate::source::Span;

/// Understands a pool's sharing.
pub(super) fn resolve(
    pool: &NodePool,
    gpus: &Known<Option<PoolGpus>>,
    report: &mut Report,
) -> Known<Sharing> {
    match &pool.sharing.value {
        Written::None => Known::Yes(Sharing::Exclusive),
        Written::TimeSlicing(slicing) => Known::Yes(Sharing::TimeSlicing {
            replicas: slicing.replicas,
            rename: slicing.rename.value,
        }),
        Written::Mps(mps) => Known::Yes(Sharing::Mps {
            replicas: mps.replicas,
            rename: mps.rename.value,
        }),
        Written::Mig(written) => match gpus {
            Known::Yes(Some(gpus)) => match mig(written, pool.sharing.span, gpus, report) {
                Ok(gpus) => Known::Yes(Sharing::Mig {
                    strategy: written.strategy,
                    gpus,
                }),
                Err(reported) => Known::No(reported),
            },
            // Sharing without GPUs is a finding of its own.
            Known::Yes(None) => Known::Yes(Sharing::Exclusive),
            Known::No(reported) => Known::No(*reported),
        },
    }
}

fn mig(
    written: &MigSharing,
    place: Span,
    gpus: &PoolGpus,
    report: &mut Report,
) -> Result<Vec<MigGpu>, Reported> {
    let Some(mig) = gpus.model.mig else {
        let message = format!("{} cannot be cut into slices", gpus.model.key);
        let draft = report.draft(&codes::MIG_UNSUPPORTED, place, message);
        return Err(draft
            .label(gpus.chosen, "the card is chosen here")
            .help("share it with `timeSlicing` or `mps`")
            .emit());
    };
    let entries = written.per_gpu.iter();
    let slices = entries.flat_map(|entry| &entry.layout);
    if slices
        .map(|slices| slices.count.value)
        .all(|count| count == 0)
    {
        let message = "no GPU is cut into any slice";
        let draft = report.draft(&codes::MIG_LAYOUT_EMPTY, place, message);
        let names: Vec<_> = mig.profile_names().collect();
        let help = format!(
            "add a layout with at least one of {}",
            words::some(&names, 16)
        );
        return Err(draft.help(help).emit());
    }
    let mut by_index: BTreeMap<u32, Vec<Placement>> = BTreeMap::new();
    let mut failed = None;
    for entry in &written.per_gpu {
        let indexes = indexes(entry, gpus.per_node, report);
        let slices = layout(entry, gpus, mig, report);
        match (indexes, slices) {
            (Ok(indexes), Ok(slices)) => {
                for index in indexes {
                    if by_index.insert(index, slices.clone()).is_some() {
                        failed = Some(twice(entry, index, report));
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
        slices: by_index.remove(&index).unwrap_or_default(),
    };
    Ok((0..gpus.per_node).map(gpu).collect())
}

/// Where the slices of one GPU lie.
fn layout(
    entry: &Spanned<GpuLayout>,
    gpus: &PoolGpus,
    mig: &Mig,
    report: &mut Report,
) -> Result<Vec<Placement>, Reported> {
    let mut wanted: Vec<(&MigProfile, u32)> = Vec::new();
    let mut failed = None;
    for slices in &entry.layout {
        match mig.profile(&slices.profile) {
            Some(profile) => wanted.push((profile, slices.count.value)),
            None => failed = Some(unsupported(&slices.profile, gpus, mig, report)),
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    placement::place(mig, &wanted).map_err(|misfit| {
        let first = &entry.layout[0].profile;
        let message = format!(
            "these slices do not fit on one {}: {misfit}",
            gpus.model.key
        );
        report
            .draft(&codes::MIG_LAYOUT_IMPOSSIBLE, first.span, message)
            .label(gpus.chosen, "the card is chosen here")
            .help(fitting(mig, &wanted))
            .emit()
    })
}

/// The largest part of a layout that fits, drawn, as advice.
fn fitting(mig: &Mig, wanted: &[(&'static MigProfile, u32)]) -> String {
    let mut fewer: Vec<(&MigProfile, u32)> = Vec::new();
    for (profile, count) in wanted {
        let fits = (1..=(*count).min(16)).rev().find(|count| {
            let mut trial = fewer.clone();
            trial.push((profile, *count));
            placement::place(mig, &trial).is_ok()
        });
        if let Some(count) = fits {
            fewer.push((profile, count));
        }
    }
    let words: Vec<_> = fewer
        .iter()
        .map(|(profile, count)| format!("{count} x {}", profile.name))
        .collect();
    match placement::place(mig, &fewer) {
        Ok(placements) if !words.is_empty() => format!(
            "{} fits: {}",
            words.join(" + "),
            placement::diagram(&placements, mig)
        ),
        _ => "none of them fits".to_owned(),
    }
}

fn unsupported(
    profile: &Spanned<String>,
    gpus: &PoolGpus,
    mig: &Mig,
    report: &mut Report,
) -> Reported {
    let model: &GpuModel = gpus.model;
    let names: Vec<_> = mig.profile_names().collect();
    let message = format!("{} has no MIG profile `{profile}`", model.key);
    let draft = report.draft(&codes::MIG_PROFILE_UNSUPPORTED, profile.span, message);
    let draft = draft.label(gpus.chosen, "the card is chosen here");
    let all = format!("card has {}", words::some(&names, 16));
    let draft = match words::nearest(profile, names.iter().copied()) {
        Some(near) => draft
            .help(format!("did you mean `{near}`? The {all}"))
            .replace(profile.span, near),
        None => draft.help(format!("the {all}")),
    };
    draft.emit()
}

/// Reads `0-3,6`.
fn indexes(
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
                let message = format!("`{part}` does not name GPUs of a node");
                let draft = report.draft(&codes::MIG_GPUS_UNREADABLE, written.span, message);
                let help =
                    format!("a node has GPUs 0 to {last}: write \"0-{last}\", or leave `gpus` out");
                return Err(draft.help(help).emit());
            }
        }
    }
    Ok(indexes)
}

fn twice(entry: &Spanned<GpuLayout>, index: u32, report: &mut Report) -> Reported {
    let span = entry.gpus.as_ref().map_or(entry.span, |gpus| gpus.span);
    let message = format!("GPU {index} has two layouts");
    report
        .draft(&codes::MIG_GPU_TWICE, span, message)
        .help("name each GPU in one entry of `perGpu` only")
        .emit()
}
