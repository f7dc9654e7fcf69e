//! Removal of queues that still contain jobs.

use std::collections::BTreeSet;

use gpuc_compile::charts::KUEUE;
use gpuc_syntax::shell;

use super::super::entities::{Entity, EntityKey};
use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, sorted_unique};
use super::phases::{Phase, Planned};
use super::states::Rollout;

const QUEUE: &str = "ClusterQueue";
const FLAVOR: &str = "ResourceFlavor";
const TOPOLOGY: &str = "Topology";

/// Kinds that Kueue keeps with a finalizer while another object refers to them.
pub(super) const KEPT_IN_USE: &[&str] = &[FLAVOR, TOPOLOGY];

/// The reason to delete them after the objects that refer to them.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/core/resourceflavor_controller.go` (`ClusterQueuesUsingFlavor`) and
/// `pkg/controller/tas/topology_controller.go`, both with `kueue.x-k8s.io/resource-in-use`, read 2026-11-22.
pub(super) const KUEUE_KEEPS: &str = "Kueue keeps a ResourceFlavor while a ClusterQueue uses it, and a Topology while \
    a ResourceFlavor uses it";

/// The step that ends jobs in removed queues first.
pub(super) fn stop_removed_queues(rollout: &Rollout<'_>) -> Vec<Planned> {
    let removed = rollout.removed_queues();
    let list_workloads = rollout.list_workloads_command();
    if let Some(release) = rollout.kueue_removal() {
        return Phase::StopAndSave.plan([Step {
            instruction: "Kueue is removed, and queued jobs then never start: such jobs stay suspended, and such pods gated, \
                   indefinitely. Ask users to stop submitting jobs. Wait until the listed workloads finish, or delete \
                   them: queues that contain jobs cannot be deleted, and never once Kueue is gone"
                .to_owned(),
            commands: vec![list_workloads],
            changes: sorted_unique(change_ids(&[removed, vec![release]].concat())),
        }]);
    }
    let names: Vec<&str> = (removed.iter().flat_map(|change| &change.names))
        .map(String::as_str)
        .collect();
    Phase::StopAndSave.plan((!removed.is_empty()).then(|| Step {
        instruction: format!(
            "ClusterQueue {} is removed, and its quota is guaranteed to other queues. Stop it from admitting jobs, and \
             continue when its running jobs have finished; otherwise they hold quota that is guaranteed twice. {}",
            names.join(", "),
            rollout.describe_queued_jobs(&names)
        ),
        commands: (names.iter().map(|name| rollout.hold_queue_command(name)))
            .chain([list_workloads])
            .collect(),
        changes: change_ids(&removed),
    }))
}

/// The step that deletes queues that nothing prunes, before other queues get their quota.
pub(super) fn delete_removed_queues(rollout: &Rollout<'_>) -> Vec<Planned> {
    if !rollout.is_deleted_queue(QUEUE) {
        return Vec::new();
    }
    let removed = rollout.removed_queues();
    Phase::DeleteQueues.plan([Step {
        instruction: "Delete the removed queues before their quota is guaranteed to other queues"
            .to_owned(),
        commands: (removed.iter().flat_map(|change| &change.names))
            .map(|name| rollout.delete_command(QUEUE, name))
            .collect(),
        changes: change_ids(&removed),
    }])
}

/// The steps for flavors and topologies that cannot be changed in place: the objects that refer to them are deleted
/// first and recreated with them.
pub(super) fn recreate_flavors(rollout: &Rollout<'_>, changes: &[&Change]) -> Vec<Planned> {
    let names_of_kind = |kind: &str| -> Vec<String> {
        (changes.iter())
            .filter(|change| change.kind == kind)
            .flat_map(|change| change.names.clone())
            .collect()
    };
    let topologies = names_of_kind(TOPOLOGY);
    let flavors: BTreeSet<String> = (topologies.iter())
        .flat_map(|topology| rollout.referrers(FLAVOR, topology))
        .chain(names_of_kind(FLAVOR))
        .collect();
    let queues: BTreeSet<String> = (flavors.iter())
        .flat_map(|flavor| rollout.referrers(QUEUE, flavor))
        .collect();
    let deleted: Vec<(&str, &String)> = (queues.iter().map(|name| (QUEUE, name)))
        .chain(flavors.iter().map(|name| (FLAVOR, name)))
        .chain(topologies.iter().map(|name| (TOPOLOGY, name)))
        .collect();
    if flavors.is_empty() && topologies.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = (deleted.iter())
        .map(|(kind, name)| format!("{kind} {name}"))
        .collect();
    let objects = join_with_and(&names);
    let stop = (!queues.is_empty()).then(|| Step {
        instruction: format!(
            "Objects that cannot be changed in place are recreated with the objects that refer to them, because \
             {KUEUE_KEEPS}: {objects}. Stop the queues from admitting jobs, and continue when their running jobs have \
             finished. Queued jobs start when the queues are recreated"
        ),
        commands: (queues.iter().map(|name| rollout.hold_queue_command(name)))
            .chain([rollout.list_workloads_command()])
            .collect(),
        changes: change_ids(changes),
    });
    let tool = rollout.setting.after.controller;
    let delete = Step {
        instruction: if rollout.is_delivered_by_commit() {
            format!(
                "Delete {objects}, in this order: each blocks the deletion of the next one until it is gone. {tool} \
                 may recreate a queue meanwhile: then delete it again. {tool} recreates all of them with its next retry"
            )
        } else {
            format!(
                "Delete {objects}, in this order, right before they are recreated: each blocks the deletion of the \
                 next one until it is gone"
            )
        },
        commands: (deleted.iter())
            .map(|(kind, name)| rollout.delete_command(kind, name))
            .collect(),
        changes: change_ids(changes),
    };
    (Phase::PrepareRecreation.plan(stop).into_iter())
        .chain(Phase::DeleteImmutable.plan([delete]))
        .collect()
}

impl Rollout<'_> {
    /// The change that removes Kueue, if any.
    fn kueue_removal(&self) -> Option<&Change> {
        let key = EntityKey::Release(KUEUE.name.to_owned());
        let [before, after] =
            [self.setting.before, self.setting.after].map(|side| side.by_key.contains_key(&key));
        (self.changes.iter())
            .find(|change| change.kind == key.kind() && change.names.contains(&key.name()))
            .filter(|_| before && !after)
    }

    /// The changes that remove ClusterQueues.
    pub(super) fn removed_queues(&self) -> Vec<&Change> {
        (self.changes.iter())
            .filter(|change| change.kind == QUEUE && change.status == Status::Removed)
            .collect()
    }

    /// The steps for jobs that wait in removed queues.
    ///
    /// A recreated LocalQueue takes over the workloads that wait for its name: kubernetes-sigs/kueue@00caa311
    /// `pkg/queue/manager.go` (`AddLocalQueue`), read 2026-11-22.
    fn describe_queued_jobs(&self, removed: &[&str]) -> String {
        let submits_to_removed = |entity: &Entity| {
            let leaf = entity.fields.get("spec.clusterQueue");
            leaf.is_some_and(|leaf| removed.iter().any(|name| leaf.value == **name))
        };
        let (recreated, lost): (Vec<&EntityKey>, Vec<&EntityKey>) =
            (self.setting.before.by_key.iter())
                .filter(|(key, entity)| key.kind() == "LocalQueue" && submits_to_removed(entity))
                .map(|(key, _)| key)
                .partition(|key| self.setting.after.by_key.contains_key(key));
        let never = "never start: submit them again to another queue";
        if recreated.is_empty() {
            return format!("Jobs queued in it {never}");
        }
        let names: Vec<String> = recreated.iter().map(|key| key.name()).collect();
        let queued = format!(
            "Jobs queued in {} stay queued, and start through the ClusterQueue that these names then refer to",
            names.join(", ")
        );
        if lost.is_empty() {
            queued
        } else {
            format!("{queued}; other queued jobs {never}")
        }
    }

    /// The command that lists all workloads in queues.
    fn list_workloads_command(&self) -> String {
        format!(
            "{} get workloads.kueue.x-k8s.io --all-namespaces",
            self.kubectl()
        )
    }

    /// The command that stops a queue from admitting jobs.
    fn hold_queue_command(&self, queue: &str) -> String {
        format!(
            "{} patch clusterqueues.kueue.x-k8s.io {} --type merge --patch \
             '{{\"spec\": {{\"stopPolicy\": \"Hold\"}}}}'",
            self.kubectl(),
            shell::quote(queue)
        )
    }

    /// The names of old objects of a kind that refer to a name.
    fn referrers<'s>(&'s self, kind: &'s str, name: &'s str) -> impl Iterator<Item = String> + 's {
        (self.setting.before.by_key.iter())
            .filter(move |(key, entity)| {
                let mut leaves = entity.fields.iter();
                key.kind() == kind
                    && leaves.any(|(path, leaf)| path.starts_with("spec.") && leaf.value == name)
            })
            .map(|(key, _)| key.name())
    }

    /// Whether an object of this kind, if removed, is a queue that its own step deletes.
    pub(super) fn is_deleted_queue(&self, kind: &str) -> bool {
        kind == QUEUE
            && !self.setting.prunes_removed
            && self.kueue_removal().is_none()
            && (self.removed_queues().iter()).any(|change| !change.names.is_empty())
    }
}

/// Joins names for a sentence: `a, b and c`.
pub(super) fn join_with_and(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.join(", "),
    }
}
