//! Impact of changes of cloud resources that scripts create.

use gpuc_model::plan::{Change, FieldKind};

use super::super::changes::{Delta, Fate};
use super::super::entities::Part;
use super::super::impact::Impact;
use super::capacity::{capacity, leaves_places, resized};
use super::versions::{has_versions, version};
use super::{CLUSTER, Setting, Verdict, cluster_replaced};

pub(super) fn judge(setting: &Setting<'_>, (kind, name): (&str, &str), delta: &Delta) -> Verdict {
    let part = setting.part(&delta.key);
    let is_cluster = part.is_some_and(|part| part.component == CLUSTER);
    match delta.fate() {
        Fate::Came
            if is_cluster && setting.is_there() && !cluster_replaced::is_made(setting.before) =>
        {
            Verdict::because(
                Impact::Nothing,
                "it exists: the scripts now compare it with the file, and stop at differences that they cannot change",
            )
        }
        Fate::Came => Verdict::plain(Impact::Added),
        Fate::Went if is_cluster && setting.is_there() => Verdict::because(
            Impact::Nothing,
            "nothing is deleted: it stays as it is, and from now on only you change or upgrade it",
        ),
        Fate::Went => {
            let renamed = is_cluster.then(|| cluster_replaced::renamed(setting, kind, name));
            renamed
                .flatten()
                .unwrap_or_else(|| gone(setting, kind, part))
        }
        Fate::Stayed => field(setting, delta).unwrap_or(Verdict::plain(Impact::Nothing)),
    }
}

fn gone(setting: &Setting<'_>, kind: &str, part: Option<&Part>) -> Verdict {
    let part = part.filter(|part| part.is_deleted_by_script || part.component == CLUSTER);
    match part {
        Some(part) if part.component == CLUSTER && !cluster_replaced::is_made(setting.after) => {
            Verdict::because(
                Impact::Deleted,
                format!(
                    "no script deletes the {kind}: it stays {} until you delete it",
                    setting.retention_place()
                ),
            )
        }
        Some(part) if part.is_deleted_by_script => Verdict::because(
            Impact::Nothing,
            format!("no script deletes the {kind}: it stays until you delete it"),
        ),
        // A setting of a resource that stays, or a resource that is managed elsewhere.
        _ => Verdict::because(Impact::Nothing, "no script manages it any more"),
    }
}

/// Verdict for a field of the cloud's table.
pub(super) fn field(setting: &Setting<'_>, delta: &Delta) -> Option<Verdict> {
    let path = delta.path.as_deref()?;
    let before = setting.before.all.get(&delta.key)?;
    let after = setting.after.all.get(&delta.key)?;
    let field = after.fields.get(path).or(before.fields.get(path))?;
    Some(match field.change {
        Change::Climbs { .. } | Change::Rolls { .. } if has_versions(delta) => {
            version(field, delta)
        }
        Change::Replaces { reason } => Verdict::fact(Impact::Replaced, reason, field.source),
        Change::Rolls { reason } => Verdict::fact(Impact::NodesRecreated, reason, field.source),
        Change::Resizes if leaves_places(delta) => Verdict::fact(
            Impact::WorkloadRestarted,
            "all nodes in the removed locations are deleted, and their pods terminate",
            field.source,
        ),
        Change::Resizes => {
            let pools = after.pools.iter().map(String::as_str);
            let impact = capacity(setting, pools).unwrap_or_else(|| resized(delta));
            Verdict::fact(impact, "nodes are added or removed", field.source)
        }
        Change::InPlace | Change::Climbs { .. } if !is_wanted(after, field) => Verdict::because(
            Impact::Nothing,
            "no script manages it any more: it stays as it is until you change it",
        ),
        Change::InPlace | Change::Climbs { .. } => {
            Verdict::fact(Impact::Nothing, "changed in place", field.source)
        }
    })
}

/// Whether a script still manages a field.
fn is_wanted(part: &Part, kind: &FieldKind) -> bool {
    part.fields.values().any(|field| *field == kind)
}
