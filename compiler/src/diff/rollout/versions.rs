//! Kubernetes versions, which control planes take one after the other and never back.

use super::super::impact::Impact;
use super::super::judge::{Move, move_of};
use super::super::parts::Key;
use super::super::shown::{Change, FieldChange, Step};
use super::{Rollout, ids};
use crate::plan;

impl Rollout<'_> {
    /// The versions of control planes that change, with where they go.
    pub(super) fn climbs(&self) -> impl Iterator<Item = (&Change, &FieldChange, Move)> {
        let parts = self.setting.after;
        let climbs = |change: &Change, field: &FieldChange| {
            change.names.iter().any(|name| {
                parts.all.iter().any(|(key, part)| {
                    let is_it = matches!(key, Key::Resource(kind, of) if *kind == change.kind && of == name);
                    let kind = part.fields.get(&field.path);
                    is_it && kind.is_some_and(|kind| matches!(kind.change, plan::Change::Climbs { .. }))
                })
            })
        };
        let all = self.changes.iter();
        let all = all.flat_map(|change| change.fields.iter().map(move |field| (change, field)));
        all.filter(move |(change, field)| climbs(change, field))
            .filter_map(|(change, field)| {
                let goes = move_of(field.from.as_ref(), field.to.as_ref())?;
                Some((change, field, goes))
            })
    }

    /// The steps over the versions between, and the word that there is no way back.
    pub(super) fn versions(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (change, _, goes) in self.climbs() {
            match goes {
                Move::Up => {}
                Move::Back => steps.push(Step {
                    what: "An older Kubernetes version than the cluster has is not to be had in place: write the \
                           version that it has, or make another cluster of another name and move to it"
                        .to_owned(),
                    commands: Vec::new(),
                    changes: ids(&[change]),
                }),
                Move::Over(versions) => {
                    let between = versions.split_last().map_or(&[][..], |(_, between)| between);
                    for version in between {
                        let mut commands = vec![
                            super::BUILD.to_owned(),
                            "cloud/apply.sh --dry-run --allow-disruption".to_owned(),
                            "cloud/apply.sh --allow-disruption".to_owned(),
                        ];
                        commands.extend(self.brings());
                        commands.push(format!("{} get nodes", self.kubectl()));
                        steps.push(Step {
                            what: format!(
                                "Write {version} as kubernetes.version, build, commit, and let the cloud follow; go on \
                                 when every node has {version}"
                            ),
                            commands,
                            changes: ids(&[change]),
                        });
                    }
                }
            }
        }
        steps
    }

    /// Whether a control plane changes in the cloud.
    pub(super) fn raised(&self) -> Vec<&Change> {
        let up = self.climbs().filter(|(.., goes)| *goes != Move::Back);
        up.map(|(change, ..)| change).collect()
    }

    /// Whether a change is only that a cluster would have to go back.
    pub(super) fn goes_back(&self, change: &Change) -> bool {
        let mut back = self.climbs().filter(|(.., goes)| *goes == Move::Back);
        let only = change
            .fields
            .iter()
            .filter(|field| field.impact == Impact::Replaced);
        back.any(|(of, ..)| of.id == change.id) && only.count() == 1
    }

    /// Nodes that follow their control plane, or a channel, by themselves.
    pub(super) fn followers(&self) -> Option<Step> {
        let follow: Vec<&Change> = self.changes.iter().filter(|it| self.follows(it)).collect();
        (!follow.is_empty()).then(|| Step {
            what: "Nodes follow by themselves and are made again one after another: look until every one has the new \
                   version"
                .to_owned(),
            commands: vec![format!("{} get nodes", self.kubectl())],
            changes: ids(&follow),
        })
    }

    /// Whether nodes are made again by something that they follow, and by nothing else.
    pub(super) fn follows(&self, change: &Change) -> bool {
        let followed = |field: &FieldChange| {
            change.names.iter().all(|name| {
                let part = self.setting.after.all.get(&Key::Pool(name.clone()));
                part.is_some_and(|part| part.followed.contains_key(&field.path))
            })
        };
        let mut rolls = change
            .fields
            .iter()
            .filter(|field| field.impact == Impact::NodesRecreated);
        let mut some = false;
        let all = rolls.all(|field| {
            some = true;
            followed(field)
        });
        change.kind == "pool" && some && all
    }
}
