//! Validates patched objects like the API server.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{self, Extent, Refused, place};
use gpuc_model::plan::Object;
use gpuc_schema::Span;
use gpuc_syntax::node::Node;

use super::Problem;
use crate::lower::workloads::pod_specs;

/// The problems in an object. The charts of custom resources are pinned, so the API server certainly drops a field that
/// their CRDs do not define.
pub(super) fn check(object: &Object, patch: Span) -> Vec<Problem> {
    let node = &object.node;
    let (version, kind) = (&object.identity.api_version, object.identity.kind.as_str());
    let wrong = |node: &Node, found: Refused| Problem {
        span: place(node, &found.path, found.of_key).unwrap_or(patch),
        message: found.message,
        help: found.help,
    };
    let found = api_server::look(version, kind, node, Extent::Whole).into_iter();
    let own = found.map(|found| wrong(node, found));
    // The Training Operator adds a port to the container of a PyTorchJob.
    let specs = pod_specs(node).into_iter().filter(|_| kind != "PyTorchJob");
    let ports = specs.flat_map(|spec| {
        let found = api_server::lost_ports(spec).into_iter();
        found.map(|found| wrong(spec, found))
    });
    // A `podPatch` applies to several pods, but each problem is reported once.
    let mut reported = BTreeSet::new();
    let mut wrong: Vec<_> = own.chain(ports).collect();
    wrong.retain(|it| it.span == patch || reported.insert((it.span, it.help.clone())));
    wrong
}
