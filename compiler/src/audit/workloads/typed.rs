//! What the API server refuses of patched objects.

use std::collections::BTreeSet;

use gpuc_schema::Span;

use super::Wrong;
use crate::api_server::{self, Extent, place};
use crate::plan::Object;

/// What is refused of an object. The charts that bring custom resources are pinned, so that a field that their
/// definitions do not know is dropped for sure.
pub(super) fn look(object: &Object, patch: Span) -> Vec<Wrong> {
    let node = &object.node;
    let (version, kind) = (&object.identity.api_version, object.identity.kind.as_str());
    let found = api_server::look(version, kind, node, Extent::Whole).into_iter();
    let wrong = found.map(|found| Wrong {
        span: place(node, &found.path, found.of_key).unwrap_or(patch),
        message: found.message,
        help: found.help,
    });
    // What a `podPatch` brings to several pods stands once.
    let mut said = BTreeSet::new();
    let mut wrong: Vec<_> = wrong.collect();
    wrong.retain(|it| it.span == patch || said.insert((it.span, it.help.clone())));
    wrong
}
