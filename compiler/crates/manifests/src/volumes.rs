//! The storage of PersistentVolumeClaims.

use std::collections::BTreeMap;

use gpuc_model::scheduling::{RunningWorkload, thousandths_of_node};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use super::CheckContext;
use super::claims::may_share_namespace;
use super::generated_objects::is_generated_workload;
use super::object::Object;

/// The requested bytes of a claim, with their span.
fn claim_size(claim: &Node) -> Option<(u64, Span)> {
    let resources = claim.get("spec")?.get("resources")?;
    let written = resources.get("requests")?.get("storage")?;
    Some((thousandths_of_node(written)?.div_ceil(1000), written.span()))
}

/// The requested bytes of each pod of a StatefulSet, with the first span.
pub(super) fn template_storage(object: &Object) -> Option<(u64, Span)> {
    let templates = object
        .root
        .get("spec")?
        .get("volumeClaimTemplates")?
        .items();
    let sizes: Vec<_> = templates.iter().filter_map(claim_size).collect();
    let all = sizes.iter().map(|it| it.0).fold(0, u64::saturating_add);
    Some((all, sizes.first()?.1))
}

/// The PersistentVolumeClaim objects, each with its size and span. Of a claim that may be in two files, only the
/// smaller one is certain.
pub(super) fn claim_objects<'s>(ctx: &CheckContext<'s>) -> Vec<(&'s Object, u64, Span)> {
    let mut smallest: BTreeMap<_, Vec<(&Object, u64, Span)>> = BTreeMap::new();
    let objects = ctx.objects.iter();
    let objects = objects.filter(|it| it.kind == "PersistentVolumeClaim" && it.name.is_some());
    for object in objects.filter(|it| !is_generated_workload(ctx.cluster, it)) {
        let Some((bytes, span)) = claim_size(&object.root) else {
            continue;
        };
        let candidates = smallest.entry(&object.name).or_default();
        let mut others = candidates.iter_mut();
        match others.find(|other| may_share_namespace(other.0, object)) {
            Some(other) if other.1 > bytes => *other = (object, bytes, span),
            Some(_) => {}
            None => candidates.push((object, bytes, span)),
        }
    }
    let mut claims: Vec<_> = smallest.into_values().flatten().collect();
    claims.sort_unstable_by_key(|it| (it.2.source, it.2.start));
    claims
}

/// The workloads of the teams' claims.
pub(super) fn claim_workloads<'s>(ctx: &CheckContext<'s>) -> Vec<RunningWorkload<'s>> {
    let claims = claim_objects(ctx).into_iter();
    let workloads = claims.filter_map(|(object, bytes, span)| {
        let namespace = object.namespace.as_deref()?;
        let (team, _) = ctx.cluster.team_of_namespace(namespace)?;
        Some(RunningWorkload {
            workload: None,
            title: object.title(),
            namespace: Some(namespace),
            team: Some(team.name.as_str()),
            span,
            is_patched: false,
            is_long_running: true,
            groups: Vec::new(),
            pools: Vec::new(),
            storage: bytes,
        })
    });
    workloads.collect()
}
