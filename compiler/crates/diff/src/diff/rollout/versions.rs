//! Kubernetes upgrades: control planes are upgraded one minor version at a time, and never downgraded.

use gpuc_model::plan;

use super::super::classify::{Move, move_of};
use super::super::entities::Key;
use super::super::impact::Impact;
use super::super::report::{Change, FieldChange, Step};
use super::{Rollout, ids};

impl Rollout<'_> {
    /// The version changes of control planes, with their direction.
    pub(super) fn climbs(&self) -> impl Iterator<Item = (&Change, &FieldChange, Move)> {
        let parts = self.setting.after;
        let climbs = |change: &Change, field: &FieldChange| {
            change.names.iter().any(|name| {
                parts.all.iter().any(|(key, part)| {
                    let is_changed = matches!(key, Key::Resource(kind, of) if *kind == change.kind && of == name);
                    let kind = part.fields.get(&field.path);
                    is_changed && kind.is_some_and(|kind| matches!(kind.change, plan::Change::Climbs { .. }))
                })
            })
        };
        (self.changes.iter())
            .flat_map(|change| change.fields.iter().map(move |field| (change, field)))
            .filter(move |(change, field)| climbs(change, field))
            .filter_map(|(change, field)| {
                let direction = move_of(field.from.as_ref(), field.to.as_ref())?;
                Some((change, field, direction))
            })
    }

    /// The steps for intermediate versions, and the error for downgrades.
    pub(super) fn versions(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (change, _, goes) in self.climbs() {
            match goes {
                Move::Up => {}
                Move::Back => steps.push(Step {
                    what: "A cluster cannot be downgraded in place: set its current Kubernetes version, or create a \
                           new cluster with another name and move to it"
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
                        commands.extend(self.deploy_command());
                        commands.push(format!("{} get nodes", self.kubectl()));
                        steps.push(Step {
                            what: format!(
                                "Set kubernetes.version to {version}, build, commit and upgrade; continue when every \
                                 node has {version}"
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

    /// The changes that upgrade a control plane.
    pub(super) fn raised(&self) -> Vec<&Change> {
        let up = self.climbs().filter(|(.., goes)| *goes != Move::Back);
        up.map(|(change, ..)| change).collect()
    }

    /// Whether a change consists only of a downgrade.
    pub(super) fn goes_back(&self, change: &Change) -> bool {
        let mut back = self.climbs().filter(|(.., goes)| *goes == Move::Back);
        let only = change
            .fields
            .iter()
            .filter(|field| field.impact == Impact::Replaced);
        back.any(|(of, ..)| of.id == change.id) && only.count() == 1
    }

    /// The step for nodes that are upgraded automatically after their control plane or by a channel.
    pub(super) fn followers(&self) -> Option<Step> {
        let follow: Vec<&Change> = self.changes.iter().filter(|it| self.follows(it)).collect();
        (!follow.is_empty()).then(|| Step {
            what: "Nodes are upgraded automatically and recreated one after another: wait until every node has the new \
                   version"
                .to_owned(),
            commands: vec![format!("{} get nodes", self.kubectl())],
            changes: ids(&follow),
        })
    }

    /// Whether nodes are recreated only by an automatic upgrade.
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
