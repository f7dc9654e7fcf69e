//! The number of nodes of a pool.

use gpuc_schema::config::NodePool;
use gpuc_syntax::diag::Report;

use super::codes;
use crate::{NodeRange, Resolved};

/// Resolves `count`, or `min` and `max`.
pub(super) fn resolve(pool: &NodePool, report: &mut Report) -> Resolved<NodeRange> {
    let nodes = &pool.nodes;
    let (min, max) = match (nodes.count, nodes.min, nodes.max) {
        (Some(count), None, None) => (count, count),
        (None, Some(min), Some(max)) => (min, max),
        _ => {
            // A misspelled key was reported, and may be the missing one.
            if let Some(reported) = report.error_inside(nodes.span) {
                return Resolved::Unresolved(reported);
            }
            let message = match nodes.count {
                Some(_) => format!(
                    "pool `{}` sets both `count` and a range of nodes",
                    pool.name
                ),
                None => format!("the number of nodes of pool `{}` is not set", pool.name),
            };
            let help = match (nodes.count, pool.hosts.len()) {
                (Some(_), _) => "remove `count`, or remove `min` and `max`".to_owned(),
                (None, 0) => "write `nodes: {count: 2}` or `nodes: {min: 0, max: 4}`".to_owned(),
                (None, hosts) => format!("write `nodes: {{count: {hosts}}}`"),
            };
            let builder = report
                .diagnostic(&codes::NODE_COUNT_MISSING, nodes.span, message)
                .primary_label("must have either `count`, or `min` and `max`")
                .help(help);
            return Resolved::Unresolved(builder.emit());
        }
    };
    if min.value > max.value {
        let message = format!("the minimum number of nodes, {min}, exceeds the maximum, {max}");
        let builder = report
            .diagnostic(&codes::NODE_COUNT_REVERSED, min.span, message)
            .primary_label("the minimum")
            .label(max.span, "the maximum")
            .help("swap the two numbers")
            .suggest(vec![
                gpuc_syntax::diag::Edit {
                    span: min.span,
                    text: max.value.to_string(),
                },
                gpuc_syntax::diag::Edit {
                    span: max.span,
                    text: min.value.to_string(),
                },
            ]);
        return Resolved::Unresolved(builder.emit());
    }
    if max.value == 0 {
        let message = format!("the maximum number of nodes of pool `{}` is 0", pool.name);
        return Resolved::Unresolved(
            report
                .diagnostic(&codes::NODE_COUNT_ZERO, max.span, message)
                .help("write 1 or more, or remove the pool")
                .emit(),
        );
    }
    Resolved::Value(NodeRange {
        min: min.value,
        max: max.value,
        initial: nodes.initial,
        min_span: min.span,
        max_span: max.span,
    })
}
