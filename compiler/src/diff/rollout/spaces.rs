//! Namespaces of teams that leave: nothing moves what people have in them, and nothing removes them.

use super::super::shown::{Change, ClusterFate, Step};
use super::queues::and;
use super::{Rollout, ids};
use crate::compile::Compilation;
use crate::model::Team;
use crate::shell;

const NAMESPACE: &str = "Namespace";

/// A namespace of a team that left the tree.
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

    /// The namespaces of teams that came or left.
    fn spaces(&self, fate: ClusterFate) -> Vec<Space<'_>> {
        let side = if fate == ClusterFate::Removed {
            self.before
        } else {
            self.after
        };
        let these = self.changes.iter();
        let these = these.filter(|change| change.kind == NAMESPACE && change.fate == fate);
        let named = these.flat_map(|change| change.names.iter().map(move |name| (change, name)));
        let of_team = named.filter_map(|(change, name)| {
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

    /// The namespaces that are new, where work can move to, as words.
    fn new_spaces(&self) -> Option<String> {
        let names = self.spaces(ClusterFate::Added);
        let names: Vec<String> = names.iter().map(|it| it.name.to_owned()).collect();
        (!names.is_empty()).then(|| and(&names))
    }

    /// Whether a team's queue leaves as well: its jobs have ended then before anything is brought.
    fn has_ended(&self, space: &Space<'_>) -> bool {
        let queues = self.gone_queues();
        let mut names = queues.iter().flat_map(|change| &change.names);
        names.any(|name| name == space.team)
    }

    /// Whether a namespace is to stay in the input until its work has moved to one that is new.
    fn stays_for_move(&self, space: &Space<'_>) -> bool {
        self.setting.prunes && self.new_spaces().is_some() && !self.has_ended(space)
    }

    /// What a tool takes away with a push, while people's work is still there.
    pub(super) fn spaces_stay_at_first(&self) -> Vec<Step> {
        let tool = self.setting.after.tool;
        let (Some(new), gone) = (self.new_spaces(), self.spaces(ClusterFate::Removed)) else {
            return Vec::new();
        };
        let gone = gone.iter().filter(|space| self.stays_for_move(space));
        let steps = gone.map(|space| Step {
            what: format!(
                "As soon as it is gone from what is pushed, {tool} takes the access of people to namespace {0} away, and \
                 its quota, while what runs there goes on. Leave it in gpu-cluster.yaml for now, under team {1} beside \
                 {new}, and divide between them what was promised to one",
                space.name, space.team
            ),
            commands: Vec::new(),
            changes: ids(&[space.change]),
        });
        steps.collect()
    }

    /// How what people have in a namespace moves, or ends, before their access to it does.
    pub(super) fn spaces_emptied(&self) -> Vec<Step> {
        let new = self.new_spaces();
        let gone = self.spaces(ClusterFate::Removed);
        let steps = gone.iter().map(|space| {
            let (team, name) = (space.team, space.name);
            let what = match &new {
                Some(new) => format!(
                    "Move what shall go on from namespace {name} to {new}, which nothing does by itself: start jobs and \
                     services anew there, make the ConfigMaps and Secrets there that people made, and copy the data of \
                     volume claims, because a claim cannot change its namespace{}. Go on when nobody needs what is listed",
                    if self.stays_for_move(space) {
                        ""
                    } else if self.setting.prunes {
                        ". Whoever does it needs access of their own: people's went with the push"
                    } else if self.has_ended(space) {
                        ""
                    } else {
                        ". Until the old quota is removed, both may use what was promised to one"
                    }
                ),
                None => format!(
                    "Namespace {name} of team {team} leaves, and what runs in it does not: let it end, and let people \
                     copy what they want to keep. Go on when nobody needs what is listed"
                ),
            };
            let out = if self.stays_for_move(space) {
                format!(
                    ". Then take {name} out of gpu-cluster.yaml, build, commit and push: {} takes away what people had \
                     there",
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

    /// Whether people's access to namespaces ends with a push, so that these are empty before.
    pub(super) fn spaces_end_by_push(&self) -> bool {
        self.setting.prunes && self.new_spaces().is_none()
    }

    /// The namespaces themselves, which nobody else removes.
    pub(super) fn spaces_left(&self) -> Vec<Step> {
        let gone = self.spaces(ClusterFate::Removed);
        let steps = gone.iter().map(|space| Step {
            what: format!(
                "Only when nobody wants anything in namespace {} any more: with it goes all that is in it, volume claims \
                 and their data too. Nothing else needs this step",
                space.name
            ),
            commands: vec![self.removed(NAMESPACE, space.name)],
            changes: ids(&[space.change]),
        });
        steps.collect()
    }
}
