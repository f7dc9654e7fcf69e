//! What the API server refuses of patched objects.

use gpuc_schema::Span;

use super::Wrong;
use crate::api_server::{self, Extent, Step, place};
use crate::lower::workloads::pod_specs;
use crate::node::{Node, Value};
use crate::plan::Object;

/// What is refused of an object: of Kubernetes' own the whole, of custom resources their pods.
pub(super) fn look(object: &Object, patch: Span) -> Vec<Wrong> {
    let node = &object.node;
    let (version, kind) = (&object.identity.api_version, object.identity.kind.as_str());
    let found = if api_server::knows(version, kind) {
        api_server::look(version, kind, node, Extent::Whole)
    } else {
        // The runtime that a TrainJob names says the rest of its pods.
        let extent = if kind == "TrainJob" {
            Extent::Part
        } else {
            Extent::Whole
        };
        let specs = pod_specs(node).into_iter();
        let found = specs.flat_map(|spec| {
            let mut path = Vec::new();
            way(node, spec, &mut path);
            api_server::look_at_pod(path, spec, extent)
        });
        found.collect()
    };
    let wrong = found.into_iter().map(|found| Wrong {
        span: place(node, &found.path, found.of_key).unwrap_or(patch),
        message: found.message,
        help: found.help,
    });
    wrong.collect()
}

/// The way to a part of an object.
fn way(node: &Node, part: &Node, path: &mut Vec<Step>) -> bool {
    if std::ptr::eq(node, part) {
        return true;
    }
    let below: Vec<(Step, &Node)> = match &node.value {
        Value::Scalar(_) => return false,
        Value::Sequence(items) => items
            .iter()
            .enumerate()
            .map(|(at, it)| (at.into(), it))
            .collect(),
        Value::Mapping(entries) => {
            let entries = entries.iter();
            entries
                .map(|it| (it.key.as_str().into(), &it.value))
                .collect()
        }
    };
    for (step, node) in below {
        path.push(step);
        if way(node, part, path) {
            return true;
        }
        path.pop();
    }
    false
}
