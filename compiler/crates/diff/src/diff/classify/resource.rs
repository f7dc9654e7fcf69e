//! Impact of changes of cloud resources that scripts create.

use gpuc_model::plan::{Change, FieldKind};

use super::super::changes::{Delta, EntityChange};
use super::super::entities::Entity;
use super::super::impact::Impact;
use super::super::location::CLUSTER_SCRIPT;
use super::capacity::{capacity_impact, removes_locations, resize_impact};
use super::classification::Classification;
use super::cluster_replaced;
use super::context::DiffContext;
use super::versions::{classify_version, has_versions};

pub(super) fn classify(
    setting: &DiffContext<'_>,
    (kind, name): (&str, &str),
    delta: &Delta,
) -> Classification {
    let entity = setting.entity(&delta.key);
    let is_cluster = entity.is_some_and(|entity| entity.component == CLUSTER_SCRIPT);
    match delta.entity_change() {
        EntityChange::Added
            if is_cluster
                && setting.is_same_cluster()
                && !cluster_replaced::is_created_by_gpuc(setting.before) =>
        {
            Classification::with_reason(
                Impact::Nothing,
                "it exists: the scripts now compare it with the file, and stop at differences that they cannot change",
            )
        }
        EntityChange::Added if entity.is_some_and(gives_access) => {
            Classification::with_reason(Impact::AccessChanged, "it gives access to the cluster")
        }
        EntityChange::Added => Classification::without_reason(Impact::Added),
        EntityChange::Removed if is_cluster && setting.is_same_cluster() => {
            Classification::with_reason(
                Impact::Nothing,
                "nothing is deleted: it stays as it is, and from now on only you change or upgrade it",
            )
        }
        EntityChange::Removed => {
            let renamed =
                is_cluster.then(|| cluster_replaced::classify_renamed_cluster(setting, kind, name));
            renamed
                .flatten()
                .unwrap_or_else(|| classify_removed(setting, kind, entity))
        }
        EntityChange::Modified => classify_field(setting, delta)
            .unwrap_or(Classification::without_reason(Impact::Nothing)),
    }
}

fn classify_removed(
    setting: &DiffContext<'_>,
    kind: &str,
    entity: Option<&Entity>,
) -> Classification {
    let entity =
        entity.filter(|entity| entity.is_deleted_by_script || entity.component == CLUSTER_SCRIPT);
    match entity {
        Some(entity)
            if entity.component == CLUSTER_SCRIPT
                && !cluster_replaced::is_created_by_gpuc(setting.after) =>
        {
            Classification::with_reason(
                Impact::Deleted,
                format!(
                    "no script deletes the {kind}: it stays {} until you delete it",
                    setting.retention_place()
                ),
            )
        }
        Some(entity) if gives_access(entity) => Classification::with_reason(
            Impact::AccessChanged,
            format!("no script deletes the {kind}: it gives access until you delete it"),
        ),
        Some(entity) if entity.is_deleted_by_script => Classification::with_reason(
            Impact::Nothing,
            format!("no script deletes the {kind}: it stays until you delete it"),
        ),
        // A setting of a resource that stays, or a resource that is managed elsewhere.
        _ => Classification::with_reason(Impact::Nothing, "no script manages it any more"),
    }
}

/// Verdict for a field of the cloud's table.
pub(super) fn classify_field(setting: &DiffContext<'_>, delta: &Delta) -> Option<Classification> {
    let path = delta.path.as_deref()?;
    let before = setting.before.by_key.get(&delta.key)?;
    let after = setting.after.by_key.get(&delta.key)?;
    let field = after
        .field_kinds
        .get(path)
        .or(before.field_kinds.get(path))?;
    Some(match field.change {
        Change::MinorVersionSteps { .. } | Change::NodeRollout { .. } if has_versions(delta) => {
            classify_version(field, delta)
        }
        Change::NodeRollout { .. }
        | Change::Replacement { .. }
        | Change::InPlace
        | Change::Access
        | Change::MinorVersionSteps { .. }
            if !is_managed(after, field) =>
        {
            Classification::with_reason(
                Impact::Nothing,
                "no script manages it any more: it stays as it is until you change it",
            )
        }
        Change::Replacement { reason } => {
            Classification::with_source(Impact::Replaced, reason, field.source)
        }
        Change::AtCreation { reason } => {
            Classification::with_source(Impact::Nothing, reason, field.source)
        }
        Change::NodeRollout { reason } => {
            Classification::with_source(Impact::NodesRecreated, reason, field.source)
        }
        Change::Resize if removes_locations(delta) => Classification::with_source(
            Impact::WorkloadRestarted,
            "all nodes in the removed locations are deleted, and their pods terminate",
            field.source,
        ),
        Change::Resize if let Some(impact) = period_impact(path, delta) => {
            Classification::with_source(impact, "the nodes run at another time", field.source)
        }
        Change::Resize => {
            let pools = after.pools.iter().map(String::as_str);
            let impact = capacity_impact(setting, pools).unwrap_or_else(|| resize_impact(delta));
            Classification::with_source(impact, "nodes are added or removed", field.source)
        }
        Change::Access => {
            Classification::with_source(Impact::AccessChanged, "changed in place", field.source)
        }
        Change::InPlace | Change::MinorVersionSteps { .. } => {
            Classification::with_source(Impact::Nothing, "changed in place", field.source)
        }
    })
}

/// The impact of another start or end of the time during which nodes run. Times in UTC are sorted as texts.
fn period_impact(path: &str, delta: &Delta) -> Option<Impact> {
    let (from, to) = (delta.from.as_ref()?.as_str()?, delta.to.as_ref()?.as_str()?);
    let is_shorter = match path.rsplit('.').next()? {
        "start" => to > from,
        "scaleDown" => to < from,
        _ => return None,
    };
    Some(if is_shorter {
        Impact::CapacityLost
    } else {
        Impact::CapacityGained
    })
}

/// Whether a resource other than the cluster consists of access to it.
fn gives_access(entity: &Entity) -> bool {
    let mut kinds = entity.field_kinds.values();
    entity.component != CLUSTER_SCRIPT && kinds.any(|kind| kind.change == Change::Access)
}

/// Whether a script still manages a field.
fn is_managed(entity: &Entity, kind: &FieldKind) -> bool {
    entity.field_kinds.values().any(|field| *field == kind)
}
