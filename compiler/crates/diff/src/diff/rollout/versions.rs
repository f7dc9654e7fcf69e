//! Kubernetes upgrades: control planes are upgraded one minor version at a time, and never downgraded.

use gpuc_model::{KubernetesVersion, plan};

use super::super::classify::{VersionDirection, version_change};
use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::super::report::{Change, FieldChange, Step};
use super::changed_pools::change_ids;
use super::command_names::BUILD;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// A change of the version of a control plane.
pub(super) struct VersionChange<'a> {
    change: &'a Change,
    pub(super) direction: VersionDirection,
}

/// The steps for intermediate versions, and the error for downgrades.
pub(super) fn upgrade_through_versions(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut steps = Vec::new();
    for VersionChange { change, direction } in rollout.version_changes() {
        match direction {
            VersionDirection::Upgrade => {}
            VersionDirection::Downgrade => steps.push(Step {
                instruction: "A cluster cannot be downgraded in place: set its current Kubernetes version, or create a new \
                       cluster with another name and move to it"
                    .to_owned(),
                commands: Vec::new(),
                changes: change_ids(&[change]),
            }),
            VersionDirection::SkippingUpgrade(versions) => {
                let intermediate = versions.split_last().map_or(&[][..], |(_, rest)| rest);
                let has_others = rollout.has_edits_besides(change);
                for (index, version) in intermediate.iter().enumerate() {
                    let mut commands = vec![
                        BUILD.to_owned(),
                        "cloud/apply.sh --dry-run --allow-disruption".to_owned(),
                        "cloud/apply.sh --allow-disruption".to_owned(),
                    ];
                    commands.extend(rollout.deploy_command());
                    commands.push(format!("{} get nodes", rollout.kubectl()));
                    steps.push(Step {
                        instruction: format!(
                            "{}Set kubernetes.version to {version}, build, commit and upgrade; continue when every \
                             node has {version}{}",
                            if has_others && index == 0 {
                                rollout.set_aside_text()
                            } else {
                                ""
                            },
                            if has_others && index + 1 == intermediate.len() {
                                ". Then restore the other edits"
                            } else {
                                ""
                            },
                        ),
                        commands,
                        changes: change_ids(&[change]),
                    });
                }
            }
        }
    }
    Phase::IntermediateVersions.plan(steps)
}

/// The step for nodes that are upgraded automatically after their control plane or by a channel.
pub(super) fn await_automatic_upgrades(rollout: &Rollout<'_>) -> Vec<Planned> {
    let changes: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| rollout.is_automatic_upgrade(change))
        .collect();
    Phase::AwaitUpgrades.plan((!changes.is_empty()).then(|| Step {
        instruction: "Nodes are upgraded automatically and recreated one after another: wait until every node has the new \
               version"
            .to_owned(),
        commands: vec![format!("{} get nodes", rollout.kubectl())],
        changes: change_ids(&changes),
    }))
}

impl Rollout<'_> {
    /// The version changes of control planes.
    pub(super) fn version_changes(&self) -> impl Iterator<Item = VersionChange<'_>> {
        (self.changes.iter())
            .flat_map(|change| change.fields.iter().map(move |field| (change, field)))
            .filter(move |(change, field)| self.is_control_plane_version(change, field))
            .filter_map(|(change, field)| {
                let direction = version_change(field.from.as_ref(), field.to.as_ref())?;
                Some(VersionChange { change, direction })
            })
    }

    /// The version that the build of the tree sets, if earlier steps set intermediate versions.
    pub(super) fn version_after_intermediates(&self) -> Option<KubernetesVersion> {
        self.version_changes()
            .find_map(|version| match version.direction {
                VersionDirection::SkippingUpgrade(versions) => versions.last().copied(),
                _ => None,
            })
    }

    fn is_control_plane_version(&self, change: &Change, field: &FieldChange) -> bool {
        self.setting.after.by_key.iter().any(|(key, entity)| {
            let is_changed = matches!(
                key,
                EntityKey::Resource(kind, name) if *kind == change.kind && change.names.contains(name)
            );
            let kind = entity.field_kinds.get(&field.path);
            is_changed
                && kind.is_some_and(|kind| matches!(kind.change, plan::Change::MinorVersionSteps { .. }))
        })
    }

    /// The changes that upgrade a control plane.
    pub(super) fn upgraded_control_planes(&self) -> Vec<&Change> {
        self.version_changes()
            .filter(|version| version.direction != VersionDirection::Downgrade)
            .map(|version| version.change)
            .collect()
    }

    /// Whether the input has edits that do not cause this change of a version. If the causes are unknown, it may.
    fn has_edits_besides(&self, version: &Change) -> bool {
        version.causes.is_empty()
            || (self.changes.iter().flat_map(|change| &change.causes))
                .any(|cause| !version.causes.contains(cause))
    }

    /// The instruction to upgrade to an intermediate version without the other edits: their steps come later, and the
    /// scripts stop at those that the cluster does not support in place.
    fn set_aside_text(&self) -> &'static str {
        if self.removes_pools_before_upgrade() {
            "Until the last of these versions, set all other edits aside, except that the pools above stay removed. "
        } else {
            "Until the last of these versions, set all other edits aside. "
        }
    }

    /// Whether a change consists only of a downgrade.
    pub(super) fn is_downgrade(&self, change: &Change) -> bool {
        let goes_back = self.version_changes().any(|version| {
            version.direction == VersionDirection::Downgrade && version.change.id == change.id
        });
        let replaced = (change.fields.iter()).filter(|field| field.impact == Impact::Replaced);
        goes_back && replaced.count() == 1
    }

    /// Whether nodes are recreated only by an automatic upgrade.
    pub(super) fn is_automatic_upgrade(&self, change: &Change) -> bool {
        let is_upgraded_automatically = |field: &FieldChange| {
            change.names.iter().all(|name| {
                let entity = self
                    .setting
                    .after
                    .by_key
                    .get(&EntityKey::Pool(name.clone()));
                entity.is_some_and(|entity| entity.auto_upgrades.contains_key(&field.path))
            })
        };
        let mut recreating = (change.fields.iter())
            .filter(|field| field.impact == Impact::NodesRecreated)
            .peekable();
        change.kind == "pool"
            && recreating.peek().is_some()
            && recreating.all(is_upgraded_automatically)
    }
}
