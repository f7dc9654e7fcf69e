//! What the API server refuses of patched objects.

use std::collections::BTreeSet;

use gpuc_schema::Span;

use super::Wrong;
use crate::api_server::{self, Extent, Refused, place};
use crate::lower::workloads::pod_specs;
use crate::node::Node;
use crate::plan::Object;

/// What is refused of an object. The charts that bring custom resources are pinned, so that a field that their
/// definitions do not know is dropped for sure.
pub(super) fn look(object: &Object, patch: Span) -> Vec<Wrong> {
    let node = &object.node;
    let (version, kind) = (&object.identity.api_version, object.identity.kind.as_str());
    let wrong = |node: &Node, found: Refused| Wrong {
        span: place(node, &found.path, found.of_key).unwrap_or(patch),
        message: found.message,
        help: found.help,
    };
    let found = api_server::look(version, kind, node, Extent::Whole).into_iter();
    let own = found.map(|found| wrong(node, found));
    // The operator of PyTorchJobs gives its container a port.
    let specs = pod_specs(node).into_iter().filter(|_| kind != "PyTorchJob");
    let ports = specs.flat_map(|spec| {
        let found = api_server::lost_ports(spec).into_iter();
        found.map(|found| wrong(spec, found))
    });
    // What a `podPatch` brings to several pods stands once.
    let mut said = BTreeSet::new();
    let mut wrong: Vec<_> = own.chain(ports).collect();
    wrong.retain(|it| it.span == patch || said.insert((it.span, it.help.clone())));
    wrong
}
