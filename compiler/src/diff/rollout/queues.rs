//! Queues that leave, while jobs are in them.

use super::super::parts::Key;
use super::super::shown::{Change, ClusterFate, Step};
use super::{Rollout, ids, unique};
use crate::chart::KUEUE;
use crate::shell;

const QUEUE: &str = "ClusterQueue";

impl Rollout<'_> {
    /// The release of Kueue, where it leaves.
    fn kueue_leaves(&self) -> Option<&Change> {
        let key = Key::Release(KUEUE.name.to_owned());
        let sides = [self.setting.before, self.setting.after];
        let [before, after] = sides.map(|side| side.all.contains_key(&key));
        let mut gone = self.changes.iter();
        let gone = gone.find(|it| it.kind == key.kind() && it.names.contains(&key.name()));
        gone.filter(|_| before && !after)
    }

    fn gone_queues(&self) -> Vec<&Change> {
        let is_gone =
            |change: &&Change| change.kind == QUEUE && change.fate == ClusterFate::Removed;
        self.changes.iter().filter(is_gone).collect()
    }

    /// Jobs in queues that leave, before these do.
    pub(super) fn queues_end(&self) -> Option<Step> {
        let kubectl = self.kubectl();
        let workloads = format!("{kubectl} get workloads.kueue.x-k8s.io --all-namespaces");
        let gone = self.gone_queues();
        if let Some(release) = self.kueue_leaves() {
            return Some(Step {
                what: format!(
                    "Kueue leaves, and nobody starts what waits in its queues then: such jobs stay suspended, and such pods \
                     gated, for ever. {} Let what is listed end, or delete it: queues with jobs in them cannot be deleted, \
                     and nobody could when Kueue is gone",
                    "Tell people to submit no more."
                ),
                commands: vec![workloads],
                changes: unique(ids(&[gone, vec![release]].concat())),
            });
        }
        if gone.is_empty() {
            return None;
        }
        let names: Vec<&String> = gone.iter().flat_map(|change| &change.names).collect();
        let mut commands: Vec<String> = names
            .iter()
            .map(|name| {
                format!(
                    "{kubectl} patch clusterqueues.kueue.x-k8s.io {} --type merge --patch \
                     '{{\"spec\": {{\"stopPolicy\": \"Hold\"}}}}'",
                    shell::quote(name)
                )
            })
            .collect();
        commands.push(workloads);
        let plain: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        Some(Step {
            what: format!(
                "Queue {} leaves, and others are promised what it has. Let it start no more jobs, and go on when those that \
                 run have ended, or they hold what is promised twice. Jobs that wait in it never start: submit them \
                 anew where they shall run",
                plain.join(", ")
            ),
            commands,
            changes: ids(&gone),
        })
    }

    /// A queue that nothing prunes leaves before others are promised what it has.
    pub(super) fn queues_left_early(&self) -> Option<Step> {
        if self.setting.prunes || self.kueue_leaves().is_some() {
            return None;
        }
        let gone = self.gone_queues();
        let names = gone.iter().flat_map(|change| &change.names);
        let commands: Vec<String> = names.map(|name| self.removed(QUEUE, name)).collect();
        (!commands.is_empty()).then(|| Step {
            what: "Delete the queues that leave, before others are promised what they had"
                .to_owned(),
            commands,
            changes: ids(&gone),
        })
    }

    /// Whether a step about queues removes an object.
    pub(super) fn is_early_queue(&self, kind: &str) -> bool {
        kind == QUEUE && self.queues_left_early().is_some()
    }
}
