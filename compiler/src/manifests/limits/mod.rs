//! `LimitRange`s and `ResourceQuota`s among the manifests, and what they make of the pods beside them.

mod filled;
mod ranges;

use crate::model::TEAM_LABEL;

use super::Scene;
use super::read::Object;

pub(super) use filled::{Filled, Said};
pub(super) use ranges::{Item, Ranges};

/// Whether gpuc made an object itself: the cluster's file says the same, and is asked for it.
pub(super) fn is_made(object: &Object) -> bool {
    let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
    labels.is_some_and(|it| it.get(TEAM_LABEL).is_some())
}

/// The objects of a kind that hold for an object: those of its namespace. Where nobody says which one that is, those of
/// the same file, which is applied as a whole. Nothing where one is not certain: a kustomization changes it, or it may
/// be one object in two files, of two stages or two clusters.
pub(super) fn holding<'s>(
    scene: &Scene<'s>,
    kind: &str,
    object: &Object,
) -> Option<Vec<&'s Object>> {
    let file = |it: &Object| it.root.span().source;
    let all = scene.objects.iter().enumerate();
    let all: Vec<_> = all.filter(|(_, it)| it.kind == kind).collect();
    let is_twin = |it: &Object, other: &Object| {
        (&it.name, &it.namespace) == (&other.name, &other.namespace) && file(it) != file(other)
    };
    let near = all.iter().filter(|(_, it)| {
        let is_near = it.namespace == object.namespace;
        is_near && (it.namespace.is_some() || file(it) == file(object)) && !is_made(it)
    });
    let certain = near.map(|(index, it)| {
        let is_one = file(it) == file(object) || !all.iter().any(|(_, other)| is_twin(it, other));
        (is_one && !scene.changed.contains(index)).then_some(*it)
    });
    certain.collect()
}
