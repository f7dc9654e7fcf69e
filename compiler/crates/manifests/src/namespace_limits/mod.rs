//! The LimitRanges and ResourceQuotas among the manifests, and the defaults and limits of pods that follow from them.

mod defaulted;
mod ranges;

use super::CheckContext;
use super::generated_objects::is_generated;
use super::object::Object;

pub(super) use defaulted::{EffectiveAmount, EffectiveResources};
pub(super) use ranges::{LimitRangeCache, LimitRangeItem, LimitRanges};

/// The objects of a kind that apply to an object: those of its namespace, or, if the namespace is not set, those of the
/// same file. `None` if one of them is not certain: a kustomization changes it, or it is in two files, possibly for two
/// stages or two clusters.
pub(super) fn objects_in_namespace<'s>(
    ctx: &CheckContext<'s>,
    kind: &str,
    object: &Object,
) -> Option<Vec<&'s Object>> {
    let file = |it: &Object| it.root.span().source;
    let all = ctx.objects.iter().enumerate();
    let all: Vec<_> = all.filter(|(_, it)| it.kind == kind).collect();
    let is_same_object = |it: &Object, other: &Object| {
        (&it.name, &it.namespace) == (&other.name, &other.namespace) && file(it) != file(other)
    };
    let in_namespace = all.iter().filter(|(_, it)| {
        let is_same = it.namespace == object.namespace;
        is_same && (it.namespace.is_some() || file(it) == file(object)) && !is_generated(it)
    });
    let if_unique = in_namespace.map(|(index, it)| {
        let is_unique =
            file(it) == file(object) || !all.iter().any(|(_, other)| is_same_object(it, other));
        (is_unique && !ctx.kustomized.contains(index)).then_some(*it)
    });
    if_unique.collect()
}
