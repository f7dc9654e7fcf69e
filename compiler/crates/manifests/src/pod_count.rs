//! A number of pods in a manifest.

use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

/// A number of pods, with its span.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodCount {
    /// The number.
    pub(super) pods: u64,
    /// The span of the number.
    pub(super) span: Option<Span>,
}

/// Parses a number of pods: 1 if it is not set, `None` if it is invalid.
pub(super) fn parse_pod_count(spec: &Node, key: &str) -> Option<PodCount> {
    let Some(written) = spec.get(key) else {
        return Some(PodCount {
            pods: 1,
            span: None,
        });
    };
    let pods = written.text()?.parse().ok()?;
    let span = Some(written.span());
    Some(PodCount { pods, span })
}
