//! One-line summary of a cluster's build.

use std::time::Duration;

use gpuc_compile::compile::Compilation;
use gpuc_syntax::diag::phrases;

use super::write::Changes;

/// `ml-prod: 5 pools · 5–31 nodes · 18–70 GPUs · 74 files (3 changed, 1 removed) · 6 ms`.
pub(crate) fn summary_line(
    compilation: &Compilation,
    changes: &Changes,
    elapsed: Duration,
) -> String {
    let config = compilation.config.as_ref();
    let (Some(config), Some(summary)) = (config, &compilation.summary) else {
        unreachable!("a cluster with a tree has a summary")
    };
    let pools = &summary.pools;
    let sum =
        |count: fn(&gpuc_model::plan::PoolSummary) -> u64| pools.iter().map(count).sum::<u64>();
    let nodes = format_range(
        sum(|pool| pool.min_nodes.into()),
        sum(|pool| pool.max_nodes.into()),
        "node",
    );
    let gpus = format_range(sum(|pool| pool.min_gpus), sum(|pool| pool.max_gpus), "GPU");
    let files = compilation
        .output
        .as_ref()
        .map_or(0, |(tree, _)| tree.len());
    format!(
        "{}: {} · {nodes} · {gpus} · {} ({}) · {}",
        config.metadata.name,
        phrases::pluralize(pools.len(), "pool"),
        phrases::pluralize(files, "file"),
        changes_text(changes),
        format_milliseconds(elapsed),
    )
}

fn changes_text(changes: &Changes) -> String {
    let counts = [
        (changes.added.len(), "new"),
        (
            changes.changed.len() + changes.edited_by_hand.len() + changes.foreign.len(),
            "changed",
        ),
        (changes.removed.len(), "removed"),
    ];
    let words: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match changes.lock {
        _ if !words.is_empty() => words.join(", "),
        Some(reason) => format!("unchanged except the lock: {reason}"),
        None => "unchanged".to_owned(),
    }
}

fn format_range(min: u64, max: u64, word: &str) -> String {
    if min == max {
        phrases::pluralize(min, word)
    } else {
        format!("{min}–{max} {word}s")
    }
}

fn format_milliseconds(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        0 => "under 1 ms".to_owned(),
        millis => format!("{millis} ms"),
    }
}
