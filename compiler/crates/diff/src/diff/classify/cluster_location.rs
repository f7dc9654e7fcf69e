//! Impact of a change of the cluster's location.

use super::super::changes::{Delta, EntityChange};
use super::super::impact::Impact;
use super::super::location::{READ_ONLY_VERSION, same_cluster_condition};
use super::classification::Classification;
use super::context::DiffContext;

pub(super) fn classify(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let path = delta.path.as_deref().unwrap_or_default();
    let sides = [setting.before, setting.after].map(|entities| entities.conditions.contains(path));
    match delta.entity_change() {
        EntityChange::Added => Classification::without_reason(Impact::Added),
        EntityChange::Removed => Classification::with_reason(
            Impact::Deleted,
            format!(
                "no script deletes a running cluster: it stays {} until you delete it",
                setting.retention_place()
            ),
        ),
        EntityChange::Modified if path == READ_ONLY_VERSION && delta.to.is_some() => {
            Classification::with_reason(
                Impact::Nothing,
                "gpuc does not upgrade this cluster; it now generates files for this version",
            )
        }
        EntityChange::Modified if sides[1] => Classification::with_reason(
            Impact::Nothing,
            "the scripts only check it, and stop until it has this value: change it first",
        ),
        EntityChange::Modified if sides[0] => {
            Classification::with_reason(Impact::Nothing, "the scripts no longer check it")
        }
        EntityChange::Modified if delta.from.is_none() || delta.to.is_none() => {
            Classification::without_reason(Impact::Nothing)
        }
        EntityChange::Modified => {
            let unless = same_cluster_condition(path);
            Classification::with_reason(
                Impact::Replaced,
                format!(
                    "this is a different cluster{unless}: the existing one stays {} and the scripts and the GitOps \
                     controller deploy to the other one",
                    setting.retention_place()
                ),
            )
        }
    }
}
