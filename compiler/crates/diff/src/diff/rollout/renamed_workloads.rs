//! Renamed or moved workloads: nothing removes the old ones, so both run until the user deletes one.

use super::super::report::{Change, ClusterFate, Step};
use super::{Rollout, ids};

/// Long-running kinds: the old workload stays until the new one is ready.
const SERVE: &[&str] = &["Deployment", "LeaderWorkerSet", "StatefulSet"];

/// Batch kinds: two of them would do the same work twice.
const RUN: &[&str] = &["CronJob", "Job", "JobSet", "TrainJob"];

/// Kinds that belong to a workload and share its name.
const OF_IT: &[&str] = &["HorizontalPodAutoscaler", "PodDisruptionBudget"];

/// The kind that gives a workload its address.
const SERVICE: &str = "Service";

/// A removed workload and its replacement.
pub(super) struct Moved<'a> {
    change: &'a Change,
    kind: &'a str,
    old: &'a str,
    new: &'a str,
}

impl Rollout<'_> {
    fn named(&self, fate: ClusterFate) -> impl Iterator<Item = (&Change, &str, &str)> {
        (self
            .changes
            .iter()
            .filter(move |change| change.fate == fate))
        .flat_map(|change| {
            let names = change.names.iter();
            names.map(move |name| (change, change.kind.as_str(), name.as_str()))
        })
    }

    /// Removed workloads with exactly one added workload of the same kind and the same name or namespace.
    pub(super) fn workloads_moved(&self) -> Vec<Moved<'_>> {
        if self.setting.prunes {
            return Vec::new();
        }
        let removed = self
            .named(ClusterFate::Removed)
            .filter(|(_, kind, _)| SERVE.contains(kind) || RUN.contains(kind));
        let moved = removed.filter_map(|(change, kind, old)| {
            let (old_namespace, old_name) = old.split_once('/')?;
            let added: Vec<&str> = self
                .named(ClusterFate::Added)
                .filter(|(_, other_kind, _)| *other_kind == kind)
                .map(|(.., new)| new)
                .collect();
            let only = |matches: &dyn Fn(&str, &str) -> bool| {
                let mut matching = added.iter().filter(|new| {
                    new.split_once('/')
                        .is_some_and(|(namespace, name)| matches(namespace, name))
                });
                let first = matching.next()?;
                matching.next().is_none().then_some(*first)
            };
            let new = only(&|_, name| name == old_name)
                .or_else(|| only(&|namespace, _| namespace == old_namespace))?;
            Some(Moved {
                change,
                kind,
                old,
                new,
            })
        });
        moved.collect()
    }

    /// Whether a step about such workloads removes an object.
    pub(super) fn is_moved_workload(&self, kind: &str, name: &str) -> bool {
        let is_of_it = OF_IT.contains(&kind) || kind == SERVICE;
        let mut all = self.workloads_moved().into_iter();
        all.any(|it| it.old == name && (it.kind == kind || is_of_it))
    }

    /// The step that deletes old batch workloads before the new ones are deployed.
    pub(super) fn runs_twice(&self) -> Option<Step> {
        let all = self.workloads_moved().into_iter();
        let all: Vec<Moved<'_>> = all.filter(|it| RUN.contains(&it.kind)).collect();
        let words: Vec<String> = all.iter().map(Moved::words).collect();
        let changes: Vec<&Change> = all.iter().map(|it| it.change).collect();
        let commands = all.iter().map(|it| self.removed(it.kind, it.old));
        (!all.is_empty()).then(|| Step {
            what: format!(
                "{}: {}, and both would do the same work on separate GPUs. When the old workload has finished or saved \
                 its state, delete it before the new one is deployed",
                words.join("; "),
                self.setting.retention_reason()
            ),
            commands: commands.collect(),
            changes: super::unique(ids(&changes)),
        })
    }

    /// The step that deletes old long-running workloads when the new ones are ready.
    pub(super) fn serves_twice(&self) -> Option<Step> {
        let all = self.workloads_moved().into_iter();
        let all: Vec<Moved<'_>> = all.filter(|it| SERVE.contains(&it.kind)).collect();
        let words: Vec<String> = all.iter().map(Moved::words).collect();
        let mut changes: Vec<&Change> = all.iter().map(|it| it.change).collect();
        let (mut commands, mut services) = (Vec::new(), Vec::new());
        for it in &all {
            commands.push(self.removed(it.kind, it.old));
            for (change, kind, name) in self.named(ClusterFate::Removed) {
                let is_service = kind == SERVICE;
                if name != it.old || !(is_service || OF_IT.contains(&kind)) {
                    continue;
                }
                if is_service {
                    services.push(format!("{} becomes {}", address(it.old), address(it.new)));
                }
                commands.push(self.removed(kind, name));
                changes.push(change);
            }
        }
        let callers = if services.is_empty() {
            String::new()
        } else {
            format!(
                " The address of a Service changes: {}. Switch its clients to the new one first",
                services.join(", ")
            )
        };
        (!all.is_empty()).then(|| Step {
            what: format!(
                "{}: {}, and both run on separate GPUs until you delete the old one. If there are not enough GPUs for \
                 both, the new one stays pending until then.{callers}",
                words.join("; "),
                self.setting.retention_reason()
            ),
            commands,
            changes: super::unique(ids(&changes)),
        })
    }
}

impl Moved<'_> {
    fn words(&self) -> String {
        format!("{} {} is renamed to {}", self.kind, self.old, self.new)
    }
}

/// The DNS name of a Service.
fn address(name: &str) -> String {
    match name.split_once('/') {
        Some((namespace, name)) => format!("{name}.{namespace}.svc"),
        None => name.to_owned(),
    }
}
