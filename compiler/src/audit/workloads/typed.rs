//! What the API server refuses of patched objects.

use gpuc_schema::Span;

use super::Wrong;
use crate::api_server::{self, Extent, Refused, place};
use crate::lower::workloads::pod_specs;
use crate::node::Node;
use crate::plan::Object;

/// What is refused of an object: of Kubernetes' own the whole, of custom resources their pods.
pub(super) fn look(object: &Object, patch: Span) -> Vec<Wrong> {
    let node = &object.node;
    let (version, kind) = (&object.identity.api_version, object.identity.kind.as_str());
    let wrong = |node: &Node, found: Refused| Wrong {
        span: place(node, &found.path, found.of_key).unwrap_or(patch),
        message: found.message,
        help: found.help,
    };
    if api_server::knows(version, kind) {
        let found = api_server::look(version, kind, node, Extent::Whole).into_iter();
        return found.map(|found| wrong(node, found)).collect();
    }
    // The runtime that a TrainJob names says the rest of its pods.
    let extent = if kind == "TrainJob" {
        Extent::Part
    } else {
        Extent::Whole
    };
    let specs = pod_specs(node).into_iter();
    let found = specs.flat_map(|spec| {
        let found = api_server::look_at_pod(spec, extent).into_iter();
        found.map(|found| wrong(spec, found))
    });
    found.collect()
}
