//! The storage of PersistentVolumeClaims.

use std::collections::BTreeMap;

use gpuc_model::scheduling::{Load, thousandths_of};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use super::claims::may_meet;
use super::read::Object;
use super::{Scene, services};

/// The requested bytes of a claim, with their span.
fn size(claim: &Node) -> Option<(u64, Span)> {
    let resources = claim.get("spec")?.get("resources")?;
    let written = resources.get("requests")?.get("storage")?;
    Some((thousandths_of(written)?.div_ceil(1000), written.span()))
}

/// The requested bytes of each pod of a StatefulSet, with the first span.
pub(super) fn of_templates(object: &Object) -> Option<(u64, Span)> {
    let templates = object
        .root
        .get("spec")?
        .get("volumeClaimTemplates")?
        .items();
    let sizes: Vec<_> = templates.iter().filter_map(size).collect();
    let all = sizes.iter().map(|it| it.0).fold(0, u64::saturating_add);
    Some((all, sizes.first()?.1))
}

/// The PersistentVolumeClaim objects, each with its size and span. Of a claim that may be in two files, only the
/// smaller one is certain.
pub(super) fn claims<'s>(scene: &Scene<'s>) -> Vec<(&'s Object, u64, Span)> {
    let mut smallest: BTreeMap<_, Vec<(&Object, u64, Span)>> = BTreeMap::new();
    let objects = scene.objects.iter();
    let objects = objects.filter(|it| it.kind == "PersistentVolumeClaim" && it.name.is_some());
    for object in objects.filter(|it| !services::is_of_file(scene.cluster, it)) {
        let Some((bytes, span)) = size(&object.root) else {
            continue;
        };
        let alike = smallest.entry(&object.name).or_default();
        let mut others = alike.iter_mut();
        match others.find(|other| may_meet(other.0, object)) {
            Some(other) if other.1 > bytes => *other = (object, bytes, span),
            Some(_) => {}
            None => alike.push((object, bytes, span)),
        }
    }
    let mut claims: Vec<_> = smallest.into_values().flatten().collect();
    claims.sort_unstable_by_key(|it| (it.2.source, it.2.start));
    claims
}

/// The loads of the teams' claims.
pub(super) fn loads<'s>(scene: &Scene<'s>) -> Vec<Load<'s>> {
    let claims = claims(scene).into_iter();
    let loads = claims.filter_map(|(object, bytes, span)| {
        let namespace = object.namespace.as_deref()?;
        let (team, _) = scene.cluster.team_of(namespace)?;
        Some(Load {
            workload: None,
            title: object.title(),
            namespace: Some(namespace),
            team: Some(team.name.as_str()),
            span,
            patched: false,
            lasts: true,
            groups: Vec::new(),
            pools: Vec::new(),
            storage: bytes,
        })
    });
    loads.collect()
}
