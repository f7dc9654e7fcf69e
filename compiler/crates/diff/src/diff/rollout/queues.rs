//! Removal of queues that still contain jobs.

use gpuc_compile::charts::KUEUE;
use gpuc_syntax::shell;

use super::super::entities::{Key, Part};
use super::super::report::{Change, ClusterFate, Step};
use super::recreate::Recreation;
use super::{Rollout, ids, unique};

const QUEUE: &str = "ClusterQueue";
const FLAVOR: &str = "ResourceFlavor";
const TOPOLOGY: &str = "Topology";

/// Kinds that Kueue keeps with a finalizer while another object refers to them.
pub(super) const KEPT_IN_USE: &[&str] = &[FLAVOR, TOPOLOGY];

/// The reason to delete them after their users.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/core/resourceflavor_controller.go` (`ClusterQueuesUsingFlavor`) and
/// `pkg/controller/tas/topology_controller.go`, both with `kueue.x-k8s.io/resource-in-use`, read 2026-11-22.
pub(super) const KUEUE_KEEPS: &str = "Kueue keeps a ResourceFlavor while a ClusterQueue uses it, and a Topology while \
    a ResourceFlavor uses it";

impl Rollout<'_> {
    /// The change that removes Kueue, if any.
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

    /// The step that ends jobs in removed queues first.
    pub(super) fn queues_end(&self) -> Option<Step> {
        let kubectl = self.kubectl();
        let workloads = format!("{kubectl} get workloads.kueue.x-k8s.io --all-namespaces");
        let gone = self.gone_queues();
        if let Some(release) = self.kueue_leaves() {
            return Some(Step {
                what: format!(
                    "Kueue is removed, and queued jobs then never start: such jobs stay suspended, and such pods \
                     gated, indefinitely. {} Wait until the listed workloads finish, or delete them: queues that \
                     contain jobs cannot be deleted, and never once Kueue is gone",
                    "Ask users to stop submitting jobs."
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
                "ClusterQueue {} is removed, and its quota is guaranteed to other queues. Stop it from admitting jobs, \
                 and continue when its running jobs have finished; otherwise they hold quota that is guaranteed twice. \
                 {}",
                plain.join(", "),
                self.what_waits(&plain)
            ),
            commands,
            changes: ids(&gone),
        })
    }

    /// The fate of jobs that wait in removed queues.
    ///
    /// A recreated LocalQueue takes over the workloads that wait for its name: kubernetes-sigs/kueue@00caa311
    /// `pkg/queue/manager.go` (`AddLocalQueue`), read 2026-11-22.
    fn what_waits(&self, gone: &[&str]) -> String {
        let leads = |part: &Part| {
            let leaf = part.leaves.get("spec.clusterQueue");
            leaf.is_some_and(|leaf| gone.iter().any(|name| leaf.value == **name))
        };
        let ways = self.setting.before.all.iter();
        let ways = ways.filter(|(key, part)| key.kind() == "LocalQueue" && leads(part));
        let (recreated, lost): (Vec<_>, Vec<_>) =
            ways.partition(|(key, _)| self.setting.after.all.contains_key(key));
        let never = "never start: submit them again to another queue";
        if recreated.is_empty() {
            return format!("Jobs queued in it {never}");
        }
        let names: Vec<String> = recreated.iter().map(|(key, _)| key.name()).collect();
        let kept = format!(
            "Jobs queued in {} stay queued, and start through the ClusterQueue that these names then refer to",
            names.join(", ")
        );
        if lost.is_empty() {
            kept
        } else {
            format!("{kept}; other queued jobs {never}")
        }
    }

    /// The command that stops a queue from admitting jobs.
    fn held(&self, queue: &str) -> String {
        format!(
            "{} patch clusterqueues.kueue.x-k8s.io {} --type merge --patch \
             '{{\"spec\": {{\"stopPolicy\": \"Hold\"}}}}'",
            self.kubectl(),
            shell::quote(queue)
        )
    }

    /// The names of old objects of a kind that refer to a value.
    fn naming<'s>(&'s self, kind: &'s str, value: &'s str) -> impl Iterator<Item = String> + 's {
        let referrers = (self.setting.before.all.iter()).filter(move |(key, part)| {
            let mut leaves = part.leaves.iter();
            key.kind() == kind
                && leaves.any(|(path, leaf)| path.starts_with("spec.") && leaf.value == value)
        });
        referrers.map(|(key, _)| key.name())
    }

    /// Adds the steps for flavors and topologies that cannot be changed in place: their users are deleted first and
    /// recreated with them.
    pub(super) fn recreate_flavors(&self, changes: &[&Change], recreation: &mut Recreation) {
        let names_of_kind = |kind: &str| -> Vec<String> {
            (changes.iter())
                .filter(|change| change.kind == kind)
                .flat_map(|change| change.names.clone())
                .collect()
        };
        let topologies = names_of_kind(TOPOLOGY);
        let mut flavors = names_of_kind(FLAVOR);
        flavors.extend(topologies.iter().flat_map(|name| self.naming(FLAVOR, name)));
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
            recreation.before.push(Step {
                what: format!(
                    "Objects that cannot be changed in place are recreated with the objects that refer to them, \
                     because {KUEUE_KEEPS}: {}. Stop the queues from admitting jobs, and continue when their running \
                     jobs have finished. Queued jobs start when the queues are recreated",
                    and(&words)
                ),
                commands,
                changes: ids(changes),
            });
        }
        let tool = self.setting.after.tool;
        recreation.deleted.push(Step {
            what: if self.is_by_commit() {
                format!(
                    "Delete {}, in this order: each blocks the deletion of the next one until it is gone. {tool} may \
                     recreate a queue meanwhile: then delete it again. {tool} recreates all of them with its next \
                     retry",
                    and(&words)
                )
            } else {
                format!(
                    "Delete {}, in this order, right before they are recreated: each blocks the deletion of the next \
                     one until it is gone",
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

    /// The step that deletes queues that nothing prunes, before other queues get their quota.
    pub(super) fn queues_left_early(&self) -> Option<Step> {
        if self.setting.prunes || self.kueue_leaves().is_some() {
            return None;
        }
        let gone = self.gone_queues();
        let names = gone.iter().flat_map(|change| &change.names);
        let commands: Vec<String> = names.map(|name| self.removed(QUEUE, name)).collect();
        (!commands.is_empty()).then(|| Step {
            what: "Delete the removed queues before their quota is guaranteed to other queues"
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

/// Joins names for a sentence: `a, b and c`.
pub(super) fn and(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.join(", "),
    }
}
