//! Renamed or moved workloads: nothing removes the old ones, so both run until the user deletes one.

use super::super::report::{Change, Status, Step};
use super::changed_pools::{change_ids, sorted_unique};
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// Long-running kinds: the old workload stays until the new one is ready.
const LONG_RUNNING: &[&str] = &["Deployment", "LeaderWorkerSet", "StatefulSet"];

/// Batch kinds: two of them would do the same work twice.
const BATCH: &[&str] = &["CronJob", "Job", "JobSet", "TrainJob"];

/// Kinds that belong to a workload and share its name.
const COMPANIONS: &[&str] = &["HorizontalPodAutoscaler", "PodDisruptionBudget", SERVICE];

/// The kind that gives a workload its address.
const SERVICE: &str = "Service";

/// An object that a change adds or removes.
struct ChangedObject<'a> {
    change: &'a Change,
    kind: &'a str,
    name: &'a str,
}

/// A removed workload and its replacement.
struct RenamedWorkload<'a> {
    change: &'a Change,
    kind: &'a str,
    old: &'a str,
    new: &'a str,
}

/// The step that deletes old batch workloads before the new ones are deployed.
pub(super) fn delete_renamed_batch_workloads(rollout: &Rollout<'_>) -> Vec<Planned> {
    let workloads = rollout.renamed_workloads_of_kinds(BATCH);
    let changes: Vec<&Change> = workloads.iter().map(|workload| workload.change).collect();
    Phase::DeleteBatchWorkloads.plan((!workloads.is_empty()).then(|| Step {
        instruction: format!(
            "{}: {}, and both would do the same work on separate GPUs. When the old workload has finished or saved its \
             state, delete it before the new one is deployed",
            describe_all(&workloads),
            rollout.setting.retention_reason()
        ),
        commands: (workloads.iter())
            .map(|workload| rollout.delete_command(workload.kind, workload.old))
            .collect(),
        changes: sorted_unique(change_ids(&changes)),
    }))
}

/// The step that deletes old long-running workloads when the new ones are ready.
pub(super) fn delete_renamed_long_running_workloads(rollout: &Rollout<'_>) -> Vec<Planned> {
    let workloads = rollout.renamed_workloads_of_kinds(LONG_RUNNING);
    let (mut changes, mut commands, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
    for workload in &workloads {
        changes.push(workload.change);
        commands.push(rollout.delete_command(workload.kind, workload.old));
        let companions = rollout
            .objects_with_status(Status::Removed)
            .filter(|object| object.name == workload.old && COMPANIONS.contains(&object.kind));
        for object in companions {
            if object.kind == SERVICE {
                addresses.push(format!(
                    "{} becomes {}",
                    service_address(workload.old),
                    service_address(workload.new)
                ));
            }
            changes.push(object.change);
            commands.push(rollout.delete_command(object.kind, object.name));
        }
    }
    let address_note = if addresses.is_empty() {
        String::new()
    } else {
        format!(
            " The address of a Service changes: {}. Switch its clients to the new one first",
            addresses.join(", ")
        )
    };
    Phase::DeleteReplacedWorkloads.plan((!workloads.is_empty()).then(|| Step {
        instruction: format!(
            "{}: {}, and both run on separate GPUs until you delete the old one. If there are not enough GPUs for \
             both, the new one stays pending until then.{address_note}",
            describe_all(&workloads),
            rollout.setting.retention_reason()
        ),
        commands,
        changes: sorted_unique(change_ids(&changes)),
    }))
}

impl Rollout<'_> {
    /// The objects and other resources that were added or removed.
    fn objects_with_status(&self, status: Status) -> impl Iterator<Item = ChangedObject<'_>> {
        (self.changes.iter())
            .filter(move |change| change.status == status)
            .flat_map(|change| {
                change.names.iter().map(move |name| ChangedObject {
                    change,
                    kind: &change.kind,
                    name,
                })
            })
    }

    /// Removed workloads with exactly one added workload of the same kind and the same name or namespace.
    fn renamed_workloads(&self) -> Vec<RenamedWorkload<'_>> {
        if self.setting.prunes_removed {
            return Vec::new();
        }
        self.objects_with_status(Status::Removed)
            .filter(|object| LONG_RUNNING.contains(&object.kind) || BATCH.contains(&object.kind))
            .filter_map(|object| self.renamed_workload(&object))
            .collect()
    }

    /// The removed workload with its replacement, if there is exactly one candidate.
    fn renamed_workload<'s>(&'s self, removed: &ChangedObject<'s>) -> Option<RenamedWorkload<'s>> {
        let (old_namespace, old_name) = removed.name.split_once('/')?;
        let added: Vec<(&str, &str, &str)> = (self.objects_with_status(Status::Added))
            .filter(|object| object.kind == removed.kind)
            .filter_map(|object| {
                let (namespace, name) = object.name.split_once('/')?;
                Some((object.name, namespace, name))
            })
            .collect();
        let find_only = |matches: &dyn Fn(&str, &str) -> bool| {
            let mut matching =
                (added.iter()).filter(|(_, namespace, name)| matches(namespace, name));
            let (full_name, ..) = matching.next()?;
            matching.next().is_none().then_some(*full_name)
        };
        let new = find_only(&|_, name| name == old_name)
            .or_else(|| find_only(&|namespace, _| namespace == old_namespace))?;
        Some(RenamedWorkload {
            change: removed.change,
            kind: removed.kind,
            old: removed.name,
            new,
        })
    }

    fn renamed_workloads_of_kinds(&self, kinds: &[&str]) -> Vec<RenamedWorkload<'_>> {
        let mut workloads = self.renamed_workloads();
        workloads.retain(|workload| kinds.contains(&workload.kind));
        workloads
    }

    /// Whether a step about renamed workloads removes an object.
    pub(super) fn is_renamed_workload(&self, kind: &str, name: &str) -> bool {
        (self.renamed_workloads().iter()).any(|workload| {
            workload.old == name && (workload.kind == kind || COMPANIONS.contains(&kind))
        })
    }
}

fn describe_all(workloads: &[RenamedWorkload<'_>]) -> String {
    let sentences: Vec<String> = (workloads.iter())
        .map(|RenamedWorkload { kind, old, new, .. }| format!("{kind} {old} is renamed to {new}"))
        .collect();
    sentences.join("; ")
}

/// The DNS name of a Service.
fn service_address(full_name: &str) -> String {
    match full_name.split_once('/') {
        Some((namespace, name)) => format!("{name}.{namespace}.svc"),
        None => full_name.to_owned(),
    }
}
