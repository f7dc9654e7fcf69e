//! Pools of node provisioners in the cluster: they drain nodes as soon as their objects change, so users need a
//! warning.

use std::collections::BTreeSet;

use gpuc_model::POOL_LABEL;
use gpuc_model::plan::NodeProvisioner;
use gpuc_syntax::shell;

use super::super::entities::Key;
use super::super::impact::Impact;
use super::super::report::{Change, ClusterFate, Step};
use super::cleanup::{ProvisionerChange, about_pool};
use super::{Rollout, ids, pools};

impl Rollout<'_> {
    /// The node provisioners of a pool before and after.
    pub(super) fn both_makers(&self, name: &str) -> [Option<&'static NodeProvisioner>; 2] {
        let key = Key::Pool(name.to_owned());
        [self.setting.before, self.setting.after].map(|parts| parts.all.get(&key)?.maker)
    }

    /// Pools handed back to scripts, whose nodes are deleted by the push.
    fn pushed_back(&self) -> Vec<(String, &'static NodeProvisioner)> {
        let replaced = self.with_impact(&[Impact::Replaced]);
        let all = pools(&replaced, false).into_iter().filter_map(|name| {
            match self
                .provisioner_change(&name)
                .filter(|_| self.setting.prunes)?
            {
                ProvisionerChange::From(maker) => Some((name, maker)),
                ProvisionerChange::To(_) => None,
            }
        });
        all.collect()
    }

    /// The steps that drain nodes right before the push that deletes them.
    pub(super) fn emptied_for_push(&self) -> Vec<Step> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let all = self.pushed_back().into_iter().map(|(name, maker)| Step {
            what: format!(
                "Right before the push, when jobs may be interrupted, drain the nodes that {0} created for pool \
                 {name}: {1} then prunes the objects of {0}, which deletes the nodes. Until the push, {0} creates \
                 other nodes for pending pods",
                maker.name, self.setting.before.tool
            ),
            commands: self.drain(&shell::quote(&format!("{POOL_LABEL}={name},{}", maker.label))),
            changes: ids(&about_pool(&changes, &name)),
        });
        all.collect()
    }

    /// The steps that wait for nodes to be deleted before the scripts reuse their machines.
    pub(super) fn gone_by_push(&self) -> Vec<Step> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        let all = self.made_after_push().into_iter().map(|name| Step {
            what: format!(
                "Wait until the nodes of pool {name} are gone: its reservation has no machines for additional nodes"
            ),
            commands: vec![self.nodes_of(&name)],
            changes: ids(&about_pool(&changes, &name)),
        });
        all.collect()
    }

    /// Nodes that no longer match the objects of their provisioner (drift).
    fn drifting(&self) -> Option<(&'static NodeProvisioner, BTreeSet<String>, Vec<usize>)> {
        let mut found: Option<(&'static NodeProvisioner, BTreeSet<String>, Vec<usize>)> = None;
        for change in self.with_impact(&[Impact::NodesRecreated]) {
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

    /// The steps for drifted nodes that cannot be replaced automatically: the replacement is created before a node is
    /// drained, and no machine is available for it.
    ///
    /// Source: karpenter.sh/docs/concepts/disruption (replacements become ready before a node is deleted; a node that
    /// a user deletes is drained first, for its finalizer), read 2026-11-22.
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
                Some(count) => format!("while all of its {count} machines are in use"),
                None => "while all of its machines are in use".to_owned(),
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
                    "{maker} creates a replacement before it drains a node of pool {name}, but reservation {id} has no \
                     free machine {held}, so no node is replaced. When jobs may be interrupted, delete the nodes that \
                     are older than this change: each is drained first, and {maker} reuses its machine. To replace one \
                     node at a time, give its name instead of the labels",
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

    /// The steps before and after drifted nodes are replaced.
    pub(super) fn drift_steps(&self) -> Option<(Step, Step)> {
        let (maker, names, changes) = self.drifting()?;
        let changes = super::unique(changes);
        let list: Vec<String> = names.into_iter().collect();
        let (selector, described) = match list.as_slice() {
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
                "Continue when jobs may be interrupted: with the next step {} drains and replaces the existing nodes \
                 of {described}, one after another{}",
                maker.name,
                if is_stuck {
                    "; if a reservation has no free machine, only when you delete a node, as in a step below"
                } else {
                    ""
                }
            ),
            commands: vec![nodes.clone()],
            changes: changes.clone(),
        };
        let after = Step {
            what: format!(
                "Wait until {} has replaced every node of {described}",
                maker.name
            ),
            commands: vec![nodes],
            changes,
        };
        Some((before, after))
    }
}
