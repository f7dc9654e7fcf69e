//! Where what the objects of a pool depend on was written: their origins.

use crate::model::Pool;
use crate::source::Span;

/// What decides where a pool's pods run: its name, the labels of its nodes, their taints.
pub(crate) fn placement(pool: &Pool) -> Vec<Span> {
    let labels = pool.selector.iter().flat_map(|label| label.origin.inputs());
    let taints = pool.taints.iter().flat_map(|taint| taint.origin.inputs());
    let spans = std::iter::once(&pool.name.span).chain(labels).chain(taints);
    distinct(spans.copied())
}

/// What decides how a pool's GPUs are served: the cards, the node image, who advertises them, how they are shared, and
/// what comes with them.
pub(crate) fn serving(pool: &Pool) -> Vec<Span> {
    let gpus = pool.gpus.sure().map(|gpus| gpus.chosen);
    let count = pool.written.gpu.as_ref().map(|gpu| gpu.per_node.span);
    let own = [
        pool.allocation.span,
        pool.plugin.span,
        pool.os.span,
        pool.written.sharing.span,
    ];
    let extras = pool.extras.iter().map(|extra| extra.span);
    let more = extras.chain([pool.node_labels.span]);
    distinct(own.into_iter().chain(gpus).chain(count).chain(more))
}

fn distinct(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut distinct = Vec::new();
    for span in spans.filter(|span| span.is_written()) {
        if !distinct.contains(&span) {
            distinct.push(span);
        }
    }
    distinct
}
