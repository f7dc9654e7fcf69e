//! Validates patched objects like the API server.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{self, Completeness, locate_path};
use gpuc_model::plan::Object;
use gpuc_schema::Span;

use super::Problem;

/// The problems in an object. The charts of custom resources are pinned, so the API server certainly drops a field that
/// their CRDs do not define.
pub(super) fn check(object: &Object, patch: Span) -> Vec<Problem> {
    let node = &object.node;
    let (version, kind) = (&object.identity.api_version, object.identity.kind.as_str());
    let found =
        api_server::validate_object(version, kind, node, Completeness::Complete).into_iter();
    let wrong = found.map(|found| Problem {
        span: locate_path(node, &found.path, found.is_key).unwrap_or(patch),
        message: found.message,
        help: found.help,
    });
    let mut wrong: Vec<_> = wrong.collect();
    // A `podPatch` applies to several pods, but each problem is reported once.
    let mut reported = BTreeSet::new();
    wrong.retain(|it| it.span == patch || reported.insert((it.span, it.help.clone())));
    wrong
}
