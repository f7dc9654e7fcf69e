//! How many nodes a pool has.

use gpuc_schema::config::NodePool;

use super::codes;
use crate::diag::Report;
use crate::model::{Known, NodeRange};

/// Reads `count`, or `min` and `max`.
pub(super) fn resolve(pool: &NodePool, report: &mut Report) -> Known<NodeRange> {
    let nodes = &pool.nodes;
    let (min, max) = match (nodes.count, nodes.min, nodes.max) {
        (Some(count), None, None) => (count, count),
        (None, Some(min), Some(max)) => (min, max),
        _ => {
            // A key that is misspelt has been reported: with it, the pool may well say how many.
            if let Some(reported) = report.error_inside(nodes.span) {
                return Known::No(reported);
            }
            let message = format!("pool `{}` does not say how many nodes it has", pool.name);
            let draft = report.draft(&codes::NODE_COUNT_UNCLEAR, nodes.span, message);
            let draft = draft
                .here("either `count`, or `min` and `max`")
                .help("write `nodes: {count: 2}` or `nodes: {min: 0, max: 4}`");
            return Known::No(draft.emit());
        }
    };
    if min.value > max.value {
        let message = format!("the fewest nodes, {min}, are more than the most, {max}");
        let draft = report.draft(&codes::NODE_COUNT_REVERSED, min.span, message);
        let draft = draft
            .here("the fewest")
            .label(max.span, "the most")
            .help("swap them")
            .fix(vec![
                crate::diag::Edit {
                    span: min.span,
                    text: max.value.to_string(),
                },
                crate::diag::Edit {
                    span: max.span,
                    text: min.value.to_string(),
                },
            ]);
        return Known::No(draft.emit());
    }
    if max.value == 0 {
        let message = format!("pool `{}` can never have a node", pool.name);
        let draft = report.draft(&codes::NODE_COUNT_ZERO, max.span, message);
        let draft = draft.help("raise it to 1 or more, or remove the pool");
        return Known::No(draft.emit());
    }
    Known::Yes(NodeRange {
        min: min.value,
        max: max.value,
        min_span: min.span,
        max_span: max.span,
    })
}
