//! The spans of the configuration that a pool's objects depend on: their origins.

use gpuc_syntax::source::Span;

use crate::Pool;

/// The spans that determine where a pool's pods run: its name, its node labels, its taints.
pub fn placement_spans(pool: &Pool) -> Vec<Span> {
    let labels = pool.selector.iter().flat_map(|label| label.origin.inputs());
    let taints = pool.taints.iter().flat_map(|taint| taint.origin.inputs());
    let spans = std::iter::once(&pool.name.span).chain(labels).chain(taints);
    distinct_spans(spans.copied())
}

/// The spans that determine how a pool's GPUs are served: GPU model, node image, device plugin, sharing mode and
/// injected components.
pub fn serving_spans(pool: &Pool) -> Vec<Span> {
    let gpus = pool.gpus.expect_resolved();
    let chosen = gpus.map(|gpus| gpus.span);
    let count = gpus.and_then(|gpus| gpus.count_span);
    let settings = [
        pool.allocation.span,
        pool.plugin.span,
        pool.os.span,
        pool.sharing_span,
    ];
    let extras = pool.extras.iter().map(|extra| extra.span);
    distinct_spans(
        (settings
            .into_iter()
            .chain(chosen)
            .chain(count)
            .chain(extras))
        .chain([pool.node_labels.span]),
    )
}

fn distinct_spans(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut distinct = Vec::new();
    for span in spans.filter(|span| span.is_written()) {
        if !distinct.contains(&span) {
            distinct.push(span);
        }
    }
    distinct
}
