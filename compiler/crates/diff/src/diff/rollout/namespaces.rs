//! Removed team namespaces: nothing moves the users' objects out of them, and nothing deletes them.

use gpuc_compile::compile::Compilation;
use gpuc_model::Team;
use gpuc_syntax::shell;

use super::super::report::{Change, Status, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::queues::join_with_and;
use super::states::Rollout;

const NAMESPACE: &str = "Namespace";

/// A team's namespace that was added to or removed from the tree.
struct TeamNamespace<'a> {
    name: &'a str,
    team: &'a str,
    change: &'a Change,
}

/// The steps that keep a namespace whose access a push would prune while its workloads still run.
pub(super) fn keep_pruned_namespaces(rollout: &Rollout<'_>) -> Vec<Planned> {
    let Some(new) = rollout.new_namespaces() else {
        return Vec::new();
    };
    let tool = rollout.setting.after.controller;
    let steps = (rollout.team_namespaces(Status::Removed).into_iter())
        .filter(|namespace| rollout.stays_until_moved(namespace))
        .map(|TeamNamespace { name, team, change }| Step {
            instruction: format!(
                "{tool} prunes the users' access to namespace {name} and its quota as soon as you push a tree without \
                 it, while its pods keep running. Leave it in gpu-cluster.yaml for now, under team {team} next to \
                 {new}, and divide the quota between them"
            ),
            commands: Vec::new(),
            changes: change_ids(&[change]),
        });
    Phase::EditInput.plan(steps)
}

/// The steps that move or end workloads in a namespace before the access to it is removed: before the push if that
/// prunes the access and no other namespace takes the workloads.
pub(super) fn empty_namespaces(rollout: &Rollout<'_>) -> Vec<Planned> {
    let new = rollout.new_namespaces();
    let kubectl = rollout.kubectl();
    let steps = (rollout.team_namespaces(Status::Removed).into_iter()).map(|namespace| {
        let what = match &new {
            Some(new) => rollout.describe_namespace_move(&namespace, new),
            None => format!(
                "Namespace {} of team {} is removed, but its pods keep running: wait until they finish, and let users \
                 copy the data that they want to keep. Continue when the listed objects are no longer needed",
                namespace.name, namespace.team
            ),
        };
        let edit = if rollout.stays_until_moved(&namespace) {
            format!(
                ". Then remove {} from gpu-cluster.yaml, build, commit and push: {} prunes the users' access and the \
                 quota",
                namespace.name, rollout.setting.after.controller
            )
        } else {
            String::new()
        };
        Step {
            instruction: format!("{what}{edit}"),
            commands: vec![format!(
                "{kubectl} get all,configmaps,secrets,persistentvolumeclaims --namespace {}",
                shell::quote(namespace.name)
            )],
            changes: change_ids(&[namespace.change]),
        }
    });
    if rollout.setting.prunes_removed && new.is_none() {
        Phase::StopAndSave.plan(steps)
    } else {
        Phase::EmptyNamespaces.plan(steps)
    }
}

/// The optional steps that delete the namespaces themselves.
pub(super) fn delete_namespaces(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed = rollout.team_namespaces(Status::Removed);
    let steps = removed.into_iter().map(|namespace| Step {
        instruction: format!(
            "Only if nothing in namespace {} is needed any more: this deletes all objects in it, including \
             PersistentVolumeClaims and their data. This step is optional",
            namespace.name
        ),
        commands: vec![rollout.delete_command(NAMESPACE, namespace.name)],
        changes: change_ids(&[namespace.change]),
    });
    Phase::DeleteNamespaces.plan(steps)
}

impl Rollout<'_> {
    /// The teams of a state.
    fn teams_in(side: Option<&Compilation>) -> &[Team] {
        let cluster = side.and_then(|side| side.cluster.as_ref());
        cluster.map_or(&[], |cluster| &cluster.teams)
    }

    /// The namespaces of teams that were added or removed.
    fn team_namespaces(&self, status: Status) -> Vec<TeamNamespace<'_>> {
        let side = if status == Status::Removed {
            self.before
        } else {
            self.after
        };
        let has_namespace =
            |team: &Team, name: &str| team.namespaces.iter().any(|other| other.value == name);
        (self.changes.iter())
            .filter(|change| change.kind == NAMESPACE && change.status == status)
            .flat_map(|change| change.names.iter().map(move |name| (change, name)))
            .filter_map(|(change, name)| {
                let mut teams = Self::teams_in(side).iter();
                let team = teams.find(|team| has_namespace(team, name))?;
                Some(TeamNamespace {
                    name,
                    team: &team.name.value,
                    change,
                })
            })
            .collect()
    }

    /// The names of new namespaces that workloads can move to, joined for a sentence.
    fn new_namespaces(&self) -> Option<String> {
        let names: Vec<String> = (self.team_namespaces(Status::Added).iter())
            .map(|namespace| namespace.name.to_owned())
            .collect();
        (!names.is_empty()).then(|| join_with_and(&names))
    }

    /// Whether the queue of a namespace's team is removed as well: its jobs have then finished before the deployment.
    fn is_queue_removed(&self, namespace: &TeamNamespace<'_>) -> bool {
        (self.removed_queues().iter())
            .flat_map(|change| &change.names)
            .any(|queue| queue == namespace.team)
    }

    /// Whether a namespace must stay in the input until its workloads have moved to a new one.
    fn stays_until_moved(&self, namespace: &TeamNamespace<'_>) -> bool {
        self.setting.prunes_removed
            && self.new_namespaces().is_some()
            && !self.is_queue_removed(namespace)
    }

    /// The instruction to move workloads to new namespaces.
    fn describe_namespace_move(&self, namespace: &TeamNamespace<'_>, new: &str) -> String {
        let access = if self.stays_until_moved(namespace) {
            ""
        } else if self.setting.prunes_removed {
            ". This needs an administrator's access: the push removed the users' access"
        } else if self.is_queue_removed(namespace) {
            ""
        } else {
            ". Until the old quota is removed, both namespaces have the full quota"
        };
        format!(
            "Move the workloads that you still need from namespace {} to {new}, because nothing moves them \
             automatically: start jobs and services again there, recreate the ConfigMaps and Secrets that users \
             created, and copy the data of PersistentVolumeClaims, which cannot change their namespace{access}. \
             Continue when the listed objects are no longer needed",
            namespace.name
        )
    }
}
