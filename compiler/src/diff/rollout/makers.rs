//! Nodes that something in the cluster makes: it drains them as soon as it is told, so people are told before.

use std::collections::BTreeSet;

use super::super::impact::Impact;
use super::super::parts::Key;
use super::super::shown::{Change, ClusterFate, Step};
use super::left::{Handed, about_pool};
use super::{Rollout, ids, pools};
use crate::model::POOL_LABEL;
use crate::plan::Maker;
use crate::shell;

impl Rollout<'_> {
    /// What in the cluster made and makes a pool's nodes.
    pub(super) fn both_makers(&self, name: &str) -> [Option<&'static Maker>; 2] {
        let key = Key::Pool(name.to_owned());
        [self.setting.before, self.setting.after].map(|parts| parts.all.get(&key)?.maker)
    }

    /// Pools that go back to scripts, whose nodes leave by the push.
    fn pushed_back(&self) -> Vec<(String, &'static Maker)> {
        let replaced = self.of(&[Impact::Replaced]);
        let all = pools(&replaced, false).into_iter().filter_map(|name| {
            match self.handed(&name).filter(|_| self.setting.prunes)? {
                Handed::From(maker) => Some((name, maker)),
                Handed::To(_) => None,
            }
        });
        all.collect()
    }

    /// Nodes that leave by the push are emptied right before it.
    pub(super) fn emptied_for_push(&self) -> Vec<Step> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let all = self.pushed_back().into_iter().map(|(name, maker)| Step {
            what: format!(
                "Right before the push, when jobs may be interrupted, drain the nodes that {} made for pool {name}: {} \
                 removes then what it makes them by, and it deletes them. Until the push it makes others for what waits",
                maker.name, self.setting.before.tool
            ),
            commands: self.drain(&shell::quote(&format!("{POOL_LABEL}={name},{}", maker.label))),
            changes: ids(&about_pool(&changes, &name)),
        });
        all.collect()
    }

    /// Nodes whose machines are needed are looked for before the scripts make others.
    pub(super) fn gone_by_push(&self) -> Vec<Step> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let all = self.made_after_push().into_iter().map(|name| Step {
            what: format!(
                "Wait until the nodes of pool {name} are gone: its reservation has no machines for what the scripts make \
                 beside them"
            ),
            commands: vec![self.nodes_of(&name)],
            changes: ids(&about_pool(&changes, &name)),
        });
        all.collect()
    }

    /// Nodes that are no longer as the objects say which they are made by.
    fn drifting(&self) -> Option<(&'static Maker, BTreeSet<String>, Vec<usize>)> {
        let mut found: Option<(&'static Maker, BTreeSet<String>, Vec<usize>)> = None;
        for change in self.of(&[Impact::NodesRecreated]) {
            if change.fate != ClusterFate::Kept {
                continue;
            }
            for name in &change.names {
                let [Some(maker), Some(_)] = self.both_makers(name) else {
                    continue;
                };
                if !maker.kinds.iter().any(|(kind, _)| *kind == change.kind) {
                    continue;
                }
                let all = found.get_or_insert((maker, BTreeSet::new(), Vec::new()));
                all.1.insert(name.clone());
                all.2.push(change.id);
            }
        }
        found
    }

    /// Nodes that nothing makes again by itself: another one comes before one is drained, and has no machine.
    ///
    /// Source: karpenter.sh/docs/concepts/disruption (replacements become ready before a node is deleted; a node that
    /// somebody deletes is drained first, for its finalizer), read 2026-11-22.
    pub(super) fn stuck_in_drift(&self) -> Vec<Step> {
        let Some((maker, names, _)) = self.drifting() else {
            return Vec::new();
        };
        let changes: Vec<&Change> = self.changes.iter().collect();
        let mut steps = Vec::new();
        for name in names {
            let Some((id, count)) = self.filled(&name) else {
                continue;
            };
            let held = match count {
                Some(count) => format!("while all of its {count} are in use"),
                None => "while all of them are in use".to_owned(),
            };
            let nodes = shell::quote(&format!("{POOL_LABEL}={name},{}", maker.label));
            let kubectl = self.kubectl();
            let kinds = maker.kinds.iter().map(|(kind, _)| *kind);
            let about = changes.iter().filter(|change| {
                change.names.contains(&name)
                    && (change.kind == "pool" || kinds.clone().any(|kind| kind == change.kind))
            });
            let about: Vec<&Change> = about.copied().collect();
            steps.push(Step {
                what: format!(
                    "{maker} brings another node before it drains one of pool {name}, and reservation {id} has no machine \
                     for that {held}: then nothing is made again. When jobs may be interrupted, delete the nodes that are \
                     older than this change: each is drained first, and {maker} makes another of its machine. To go one \
                     after the other, name one in place of the labels",
                    maker = maker.name,
                ),
                commands: vec![
                    format!("{kubectl} get nodes -l {nodes}"),
                    format!("{kubectl} delete nodes -l {nodes}"),
                ],
                changes: super::unique(ids(&about)),
            });
        }
        steps
    }

    /// What people know before such nodes are made again, and what they look for afterwards.
    pub(super) fn drift(&self) -> Option<(Step, Step)> {
        let (maker, names, changes) = self.drifting()?;
        let changes = super::unique(changes);
        let list: Vec<String> = names.into_iter().collect();
        let (selector, these) = match list.as_slice() {
            [one] => (format!("{POOL_LABEL}={one}"), format!("pool {one}")),
            _ => (
                format!("{POOL_LABEL} in ({})", list.join(",")),
                format!("pools {}", list.join(", ")),
            ),
        };
        let nodes = format!(
            "{} get nodes -l {}",
            self.kubectl(),
            shell::quote(&selector)
        );
        let is_stuck = list.iter().any(|name| self.filled(name).is_some());
        let before = Step {
            what: format!(
                "Go on when jobs may be interrupted: by what comes next {} drains the nodes of {these} that there are now, \
                 and makes others, one after another{}",
                maker.name,
                if is_stuck {
                    "; where a reservation has no machine left, only when you delete a node, which a step below does"
                } else {
                    ""
                }
            ),
            commands: vec![nodes.clone()],
            changes: changes.clone(),
        };
        let after = Step {
            what: format!(
                "Look until {} has made every node of {these} again",
                maker.name
            ),
            commands: vec![nodes],
            changes,
        };
        Some((before, after))
    }
}
