//! Removed team namespaces: nothing moves the users' objects out of them, and nothing deletes them.

use gpuc_compile::compile::Compilation;
use gpuc_model::Team;
use gpuc_syntax::shell;

use super::super::report::{Change, ClusterFate, Step};
use super::queues::and;
use super::{Rollout, ids};

const NAMESPACE: &str = "Namespace";

/// A team's namespace that was added to or removed from the tree.
struct Space<'a> {
    name: &'a str,
    team: &'a str,
    change: &'a Change,
}

impl Rollout<'_> {
    fn teams(side: Option<&Compilation>) -> &[Team] {
        let cluster = side.and_then(|side| side.cluster.as_ref());
        cluster.map_or(&[], |cluster| &cluster.teams)
    }

    /// The namespaces of teams that were added or removed.
    fn spaces(&self, fate: ClusterFate) -> Vec<Space<'_>> {
        let side = if fate == ClusterFate::Removed {
            self.before
        } else {
            self.after
        };
        let names = (self.changes.iter())
            .filter(|change| change.kind == NAMESPACE && change.fate == fate)
            .flat_map(|change| change.names.iter().map(move |name| (change, name)));
        let of_team = names.filter_map(|(change, name)| {
            let mut teams = Self::teams(side).iter();
            let team = teams.find(|team| team.namespaces.iter().any(|it| it.value == *name))?;
            Some(Space {
                name,
                team: &team.name.value,
                change,
            })
        });
        of_team.collect()
    }

    /// The names of new namespaces that workloads can move to.
    fn new_spaces(&self) -> Option<String> {
        let names = self.spaces(ClusterFate::Added);
        let names: Vec<String> = names.iter().map(|it| it.name.to_owned()).collect();
        (!names.is_empty()).then(|| and(&names))
    }

    /// Whether a team's queue is removed as well: its jobs have then finished before the deployment.
    fn has_ended(&self, space: &Space<'_>) -> bool {
        let queues = self.gone_queues();
        let mut names = queues.iter().flat_map(|change| &change.names);
        names.any(|name| name == space.team)
    }

    /// Whether a namespace must stay in the input until its workloads have moved to a new one.
    fn stays_for_move(&self, space: &Space<'_>) -> bool {
        self.setting.prunes && self.new_spaces().is_some() && !self.has_ended(space)
    }

    /// The steps that keep a namespace whose access a push would prune while its workloads still run.
    pub(super) fn spaces_stay_at_first(&self) -> Vec<Step> {
        let tool = self.setting.after.tool;
        let (Some(new), gone) = (self.new_spaces(), self.spaces(ClusterFate::Removed)) else {
            return Vec::new();
        };
        let gone = gone.iter().filter(|space| self.stays_for_move(space));
        let steps = gone.map(|space| Step {
            what: format!(
                "{tool} prunes the users' access to namespace {0} and its quota as soon as you push a tree without it, \
                 while its pods keep running. Leave it in gpu-cluster.yaml for now, under team {1} next to {new}, and \
                 divide the quota between them",
                space.name, space.team
            ),
            commands: Vec::new(),
            changes: ids(&[space.change]),
        });
        steps.collect()
    }

    /// The steps that move or end workloads in a namespace before the access to it is removed.
    pub(super) fn spaces_emptied(&self) -> Vec<Step> {
        let new = self.new_spaces();
        let gone = self.spaces(ClusterFate::Removed);
        let steps = gone.iter().map(|space| {
            let (team, name) = (space.team, space.name);
            let what = match &new {
                Some(new) => format!(
                    "Move the workloads that you still need from namespace {name} to {new}, because nothing moves them \
                     automatically: start jobs and services again there, recreate the ConfigMaps and Secrets that \
                     users created, and copy the data of PersistentVolumeClaims, which cannot change their \
                     namespace{}. Continue when the listed objects are no longer needed",
                    if self.stays_for_move(space) {
                        ""
                    } else if self.setting.prunes {
                        ". This needs an administrator's access: the push removed the users' access"
                    } else if self.has_ended(space) {
                        ""
                    } else {
                        ". Until the old quota is removed, both namespaces have the full quota"
                    }
                ),
                None => format!(
                    "Namespace {name} of team {team} is removed, but its pods keep running: wait until they finish, \
                     and let users copy the data that they want to keep. Continue when the listed objects are no \
                     longer needed"
                ),
            };
            let out = if self.stays_for_move(space) {
                format!(
                    ". Then remove {name} from gpu-cluster.yaml, build, commit and push: {} prunes the users' access \
                     and the quota",
                    self.setting.after.tool
                )
            } else {
                String::new()
            };
            Step {
                what: format!("{what}{out}"),
                commands: vec![format!(
                    "{} get all,configmaps,secrets,persistentvolumeclaims --namespace {}",
                    self.kubectl(),
                    shell::quote(name)
                )],
                changes: ids(&[space.change]),
            }
        });
        steps.collect()
    }

    /// Whether a push removes the users' access to namespaces, so that these must be empty before.
    pub(super) fn spaces_end_by_push(&self) -> bool {
        self.setting.prunes && self.new_spaces().is_none()
    }

    /// The optional steps that delete the namespaces themselves.
    pub(super) fn spaces_left(&self) -> Vec<Step> {
        let gone = self.spaces(ClusterFate::Removed);
        let steps = gone.iter().map(|space| Step {
            what: format!(
                "Only if nothing in namespace {} is needed any more: this deletes all objects in it, including \
                 PersistentVolumeClaims and their data. This step is optional",
                space.name
            ),
            commands: vec![self.removed(NAMESPACE, space.name)],
            changes: ids(&[space.change]),
        });
        steps.collect()
    }
}
