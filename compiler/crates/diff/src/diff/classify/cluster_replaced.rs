//! Impact of a change after which the input describes another cluster.

use super::super::changes::{Delta, EntityChange};
use super::super::entities::{Entities, EntityKey};
use super::super::impact::Impact;
use super::super::location::{CLUSTER_SCRIPT, READ_ONLY_VERSION};
use super::classification::Classification;
use super::context::DiffContext;

impl DiffContext<'_> {
    /// Whether the input describes another cluster: another name in the cloud, or another location.
    pub(in crate::diff) fn is_other_cluster(&self) -> bool {
        let [Some(old), Some(new)] =
            [self.before, self.after].map(|entities| entities.by_key.get(&EntityKey::Location))
        else {
            return false;
        };
        let is_condition = |path: &String| {
            let sides = [self.before, self.after];
            path == READ_ONLY_VERSION
                || sides
                    .iter()
                    .any(|entities| entities.conditions.contains(path))
        };
        old.fields.iter().any(|(path, leaf)| {
            let now = new.fields.get(path);
            !is_condition(path) && now.is_some_and(|now| now.value != leaf.value)
        })
    }

    /// Whether both sides describe the same cluster, independent of who manages it.
    pub(super) fn is_same_cluster(&self) -> bool {
        let [old, new] = [self.before, self.after]
            .map(|entities| entities.by_key.contains_key(&EntityKey::Location));
        old && new
            && !self.is_other_cluster()
            && !(is_created_by_gpuc(self.before) && is_created_by_gpuc(self.after))
    }
}

/// Whether gpuc creates the cluster itself.
pub(in crate::diff) fn is_created_by_gpuc(entities: &Entities) -> bool {
    let mut all = entities.by_key.values();
    all.any(|entity| entity.component == CLUSTER_SCRIPT)
}

/// Overrides the classification of a change that applies to another cluster.
pub(super) fn classify_other_cluster(
    setting: &DiffContext<'_>,
    delta: &Delta,
    classification: &Classification,
) -> Option<Classification> {
    let is_sync = matches!(delta.key, EntityKey::ControllerObject(..));
    let is_within = matches!(
        delta.key,
        EntityKey::Pool(_) | EntityKey::Release(_) | EntityKey::Object { .. }
    ) && delta.entity_change() == EntityChange::Modified;
    let disturbs = matches!(
        classification.impact,
        Impact::Replaced
            | Impact::NodesRecreated
            | Impact::MigReconfigured
            | Impact::DriverRestarted
            | Impact::WorkloadRestarted
            | Impact::DevicePluginRestarted
            | Impact::ServiceRestarted
            | Impact::MonitoringChanged
    );
    if !(is_sync || is_within && disturbs) || !setting.is_other_cluster() {
        return None;
    }
    Some(match delta.entity_change() {
        EntityChange::Added => Classification::without_reason(Impact::Added),
        EntityChange::Removed => Classification::with_reason(
            Impact::Nothing,
            "how the tree is deployed to the existing cluster",
        ),
        EntityChange::Modified => Classification::with_reason(
            Impact::Added,
            "the other cluster is created with it; the existing one keeps its value",
        ),
    })
}

/// Verdict for a cluster created by gpuc that is renamed in the input.
pub(super) fn classify_renamed_cluster(
    setting: &DiffContext<'_>,
    kind: &str,
    name: &str,
) -> Option<Classification> {
    let mut new = setting
        .after
        .by_key
        .iter()
        .filter_map(|(key, entity)| match key {
            EntityKey::Resource(of, new) if *of == kind && entity.component == CLUSTER_SCRIPT => {
                Some(new)
            }
            _ => None,
        });
    let new = new.find(|new| *new != name)?;
    Some(Classification::with_reason(
        Impact::Replaced,
        format!(
            "renamed to `{new}`, but a cluster cannot be renamed in place: `{new}` is created, and `{name}` stays {} \
             until you delete it",
            setting.retention_place()
        ),
    ))
}
