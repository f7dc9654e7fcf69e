//! Queues that leave, while jobs are in them.

use super::super::parts::{Key, Part};
use super::super::shown::{Change, ClusterFate, Step};
use super::anew::Anew;
use super::{Rollout, ids, unique};
use crate::chart::KUEUE;
use crate::shell;

const QUEUE: &str = "ClusterQueue";
const FLAVOR: &str = "ResourceFlavor";
const TOPOLOGY: &str = "Topology";

/// Kinds that Kueue keeps by a finalizer while something names them.
pub(super) const KEPT_IN_USE: &[&str] = &[FLAVOR, TOPOLOGY];

/// Why they go after what uses them.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/core/resourceflavor_controller.go` (`ClusterQueuesUsingFlavor`) and
/// `pkg/controller/tas/topology_controller.go`, both with `kueue.x-k8s.io/resource-in-use`, read 2026-11-22.
pub(super) const KUEUE_KEEPS: &str =
    "Kueue keeps a flavor while a queue names it, and a topology while a flavor does";

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

    pub(super) fn gone_queues(&self) -> Vec<&Change> {
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
        let mut commands: Vec<String> = names.iter().map(|name| self.held(name)).collect();
        commands.push(workloads);
        let plain: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        Some(Step {
            what: format!(
                "Queue {} leaves, and others are promised what it has. Let it start no more jobs, and go on when those that \
                 run have ended, or they hold what is promised twice. {}",
                plain.join(", "),
                self.what_waits(&plain)
            ),
            commands,
            changes: ids(&gone),
        })
    }

    /// What becomes of jobs that wait in queues that leave.
    ///
    /// A queue of a namespace that is made anew takes what waits for one of its name: kubernetes-sigs/kueue@00caa311
    /// `pkg/queue/manager.go` (`AddLocalQueue`), read 2026-11-22.
    fn what_waits(&self, gone: &[&str]) -> String {
        let leads = |part: &Part| {
            let leaf = part.leaves.get("spec.clusterQueue");
            leaf.is_some_and(|leaf| gone.iter().any(|name| leaf.value == **name))
        };
        let ways = self.setting.before.all.iter();
        let ways = ways.filter(|(key, part)| key.kind() == "LocalQueue" && leads(part));
        let (again, lost): (Vec<_>, Vec<_>) =
            ways.partition(|(key, _)| self.setting.after.all.contains_key(key));
        let never = "never start: submit them anew where they shall run";
        if again.is_empty() {
            return format!("Jobs that wait in it {never}");
        }
        let names: Vec<String> = again.iter().map(|(key, _)| key.name()).collect();
        let on = format!(
            "Jobs that wait in {} wait on, and start through the queue that these names lead to then",
            names.join(", ")
        );
        if lost.is_empty() {
            on
        } else {
            format!("{on}; others {never}")
        }
    }

    /// Lets a queue start no more jobs.
    fn held(&self, queue: &str) -> String {
        format!(
            "{} patch clusterqueues.kueue.x-k8s.io {} --type merge --patch \
             '{{\"spec\": {{\"stopPolicy\": \"Hold\"}}}}'",
            self.kubectl(),
            shell::quote(queue)
        )
    }

    /// Objects of a kind as they were, with their names, of which one value is this.
    fn naming<'s>(&'s self, kind: &'s str, value: &'s str) -> impl Iterator<Item = String> + 's {
        let all = self.setting.before.all.iter();
        let these = all.filter(move |(key, part)| {
            let mut leaves = part.leaves.iter();
            key.kind() == kind
                && leaves.any(|(path, leaf)| path.starts_with("spec.") && leaf.value == value)
        });
        these.map(|(key, _)| key.name())
    }

    /// Flavors and topologies that cannot be changed in place: what uses them leaves before, and comes back with them.
    pub(super) fn flavors_anew(&self, changes: &[&Change], anew: &mut Anew) {
        let of = |kind: &str| {
            let these = changes.iter().filter(|change| change.kind == kind);
            these.flat_map(|change| change.names.clone()).collect()
        };
        let (topologies, mut flavors): (Vec<String>, Vec<String>) = (of(TOPOLOGY), of(FLAVOR));
        flavors.extend(topologies.iter().flat_map(|it| self.naming(FLAVOR, it)));
        flavors.sort();
        flavors.dedup();
        let mut queues: Vec<String> = flavors
            .iter()
            .flat_map(|it| self.naming(QUEUE, it))
            .collect();
        queues.sort();
        queues.dedup();
        if flavors.is_empty() && topologies.is_empty() {
            return;
        }
        let all = [
            (QUEUE, &queues),
            (FLAVOR, &flavors),
            (TOPOLOGY, &topologies),
        ];
        let words: Vec<String> = all
            .iter()
            .flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind} {name}")))
            .collect();
        if !queues.is_empty() {
            let mut commands: Vec<String> = queues.iter().map(|name| self.held(name)).collect();
            commands.push(format!(
                "{} get workloads.kueue.x-k8s.io --all-namespaces",
                self.kubectl()
            ));
            anew.before.push(Step {
                what: format!(
                    "What cannot be changed in place is made anew, and what names it as well, because {KUEUE_KEEPS}: {}. \
                     Let the queues start no more jobs, and go on when those that run have ended. What waits in them \
                     starts when they are there again",
                    and(&words)
                ),
                commands,
                changes: ids(changes),
            });
        }
        let tool = self.setting.after.tool;
        anew.deleted.push(Step {
            what: if self.is_by_commit() {
                format!(
                    "Delete {}, in this order: each keeps what comes after it until it is gone. {tool} may bring a queue \
                     again meanwhile: then delete it again. It makes all of them anew when it tries again",
                    and(&words)
                )
            } else {
                format!(
                    "Delete {}, in this order, right before they are brought anew: each keeps what comes after it until \
                     it is gone",
                    and(&words)
                )
            },
            commands: all
                .iter()
                .flat_map(|(kind, names)| names.iter().map(|name| self.removed(kind, name)))
                .collect(),
            changes: ids(changes),
        });
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

/// Names in a sentence.
pub(super) fn and(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.join(", "),
    }
}
