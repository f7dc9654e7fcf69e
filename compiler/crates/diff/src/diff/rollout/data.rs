//! Stored data: it is never deleted without a separate, optional step.

use gpuc_compile::charts::JUPYTERHUB;
use gpuc_syntax::shell;

use super::super::entities::{Entity, EntityKey};
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, sorted_unique};
use super::phases::{Phase, Planned};
use super::states::Rollout;

const CLAIM: &str = "PersistentVolumeClaim";

/// The storage request of a claim.
const SIZE: &str = "spec.resources.requests.storage";

/// A PersistentVolumeClaim with its storage request.
struct Claim<'a> {
    namespace: &'a str,
    name: &'a str,
    size: &'a str,
    change: &'a Change,
}

/// Warnings about renamed claims: a claim with another name is a new, empty volume.
pub(super) fn warn_about_empty_claims(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed = rollout.changed_claims(Status::Removed);
    if removed.is_empty() {
        return Vec::new();
    }
    let steps = (rollout.changed_claims(Status::Added).into_iter()).map(|new| {
        let in_namespace: Vec<&Claim<'_>> = (removed.iter())
            .filter(|old| old.namespace == new.namespace)
            .collect();
        let advice = match in_namespace.first() {
            Some(old) => format!(
                "If the workload needs this data, set `from: {{existingClaim: {}}}` for its volume in gpu-cluster.yaml \
                 before you continue",
                old.name
            ),
            None => "A pod can use only claims of its own namespace: copy the data that the workload needs before it \
                     restarts without it"
                .to_owned(),
        };
        let candidates = if in_namespace.is_empty() {
            removed.iter().collect()
        } else {
            in_namespace
        };
        let names: Vec<String> = (candidates.iter())
            .map(|old| format!("{}/{} ({})", old.namespace, old.name, old.size))
            .collect();
        let changes: Vec<&Change> = (candidates.iter().map(|old| old.change))
            .chain([new.change])
            .collect();
        Step {
            instruction: format!(
                "PersistentVolumeClaim {}/{} is new and empty. Claims removed from the tree keep their data: {}. \
                 {advice}",
                new.namespace,
                new.name,
                names.join(", ")
            ),
            commands: Vec::new(),
            changes: sorted_unique(change_ids(&changes)),
        }
    });
    Phase::EditInput.plan(steps)
}

/// The step that saves the hub's database, which a push deletes because the GitOps controller uninstalls its chart.
pub(super) fn save_hub_database(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed = rollout
        .removed_hub()
        .filter(|_| rollout.setting.prunes_removed);
    Phase::StopAndSave.plan(removed.map(|change| Step {
        instruction: format!(
            "{} uninstalls JupyterHub as soon as you push, and deletes the hub's database of users and permissions. \
             Copy the database first if you need it. Running notebooks become unreachable and keep their GPUs: ask \
             users to save their work and stop them. The users' own PersistentVolumeClaims stay",
            rollout.setting.before.controller
        ),
        commands: vec![rollout.copy_hub_database_command()],
        changes: change_ids(&[change]),
    }))
}

/// The optional step that uninstalls the hub, which deletes its database.
pub(super) fn uninstall_hub(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed = rollout
        .removed_hub()
        .filter(|_| !rollout.setting.prunes_removed);
    Phase::DeleteData.plan(removed.map(|change| {
        let uninstall = (change.names.iter())
            .filter(|release| rollout.is_hub_with_database(release))
            .flat_map(|release| rollout.uninstall_commands(release));
        Step {
            instruction: "Only if JupyterHub is no longer needed: uninstalling it deletes the hub's database, which is copied \
                   first. Running notebooks become unreachable: ask users to save their work and stop them before. The \
                   users' own PersistentVolumeClaims stay"
                .to_owned(),
            commands: std::iter::once(rollout.copy_hub_database_command())
                .chain(uninstall)
                .collect(),
            changes: change_ids(&[change]),
        }
    }))
}

/// The optional step that deletes removed claims with their data.
pub(super) fn delete_claims(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed = rollout.changed_claims(Status::Removed);
    let volumes: Vec<String> = (removed.iter())
        .map(|claim| format!("{} of {}/{}", claim.size, claim.namespace, claim.name))
        .collect();
    let changes: Vec<&Change> = removed.iter().map(|claim| claim.change).collect();
    Phase::DeleteData.plan((!removed.is_empty()).then(|| Step {
        instruction: format!(
            "Only if the data is no longer needed, or was copied elsewhere: this permanently deletes {}, unless the \
             StorageClass retains volumes. This step is optional",
            volumes.join(", ")
        ),
        commands: (removed.iter())
            .map(|claim| format!("{}/{}", claim.namespace, claim.name))
            .map(|full_name| rollout.delete_command(CLAIM, &full_name))
            .collect(),
        changes: sorted_unique(change_ids(&changes)),
    }))
}

impl Rollout<'_> {
    /// The entity with this kind and name, before the change or else after it.
    pub(super) fn find_entity(&self, kind: &str, name: &str) -> Option<&Entity> {
        let sides = [self.setting.before, self.setting.after];
        (sides.into_iter().flat_map(|side| &side.by_key))
            .find(|(key, _)| key.kind() == kind && key.name() == name)
            .map(|(_, entity)| entity)
    }

    /// Claims that were added or removed.
    fn changed_claims(&self, status: Status) -> Vec<Claim<'_>> {
        (self.changes.iter())
            .filter(|change| change.kind == CLAIM && change.status == status)
            .flat_map(|change| change.names.iter().map(move |name| (change, name)))
            .map(|(change, full_name)| {
                let (namespace, name) = full_name.split_once('/').unwrap_or(("default", full_name));
                let claim = self.find_entity(CLAIM, full_name);
                let size = claim.and_then(|claim| claim.fields.get(SIZE)?.value.as_str());
                Claim {
                    namespace,
                    name,
                    size: size.unwrap_or("unknown size"),
                    change,
                }
            })
            .collect()
    }

    /// The release of a removed hub, if its database is in the cluster.
    fn removed_hub(&self) -> Option<&Change> {
        self.changes.iter().find(|change| {
            change.kind == "Helm release"
                && change.status == Status::Removed
                && (change.names.iter()).any(|name| self.is_hub_with_database(name))
        })
    }

    /// Whether a release is a hub with its database on its own volume.
    ///
    /// The chart's claim `hub-db-dir` has no annotation that keeps it: jupyterhub/zero-to-jupyterhub-k8s@4.4.0
    /// `jupyterhub/values.yaml`, `hub.db.type: sqlite-pvc`; that the file is `/srv/jupyterhub/jupyterhub.sqlite`: from
    /// memory.
    pub(super) fn is_hub_with_database(&self, release: &str) -> bool {
        let key = EntityKey::Release(release.to_owned());
        let Some(entity) = self.setting.before.by_key.get(&key) else {
            return false;
        };
        let is_hub = entity
            .chart
            .is_some_and(|chart| chart.name == JUPYTERHUB.name);
        let database_type =
            (entity.fields.get("values.hub.db.type")).and_then(|leaf| leaf.value.as_str());
        is_hub && database_type.is_none_or(|name| name == "sqlite-pvc")
    }

    fn copy_hub_database_command(&self) -> String {
        format!(
            "{} exec --namespace {} deployment/hub -- cat /srv/jupyterhub/jupyterhub.sqlite > jupyterhub.sqlite",
            self.kubectl(),
            shell::quote(JUPYTERHUB.namespace)
        )
    }
}
