//! Workloads that have another name or namespace: nothing removes the old ones, and both run until somebody does.

use super::super::shown::{Change, ClusterFate, Step};
use super::{Rollout, ids};

/// Kinds that serve until they are deleted, of which the old one stays until the new one serves.
const SERVE: &[&str] = &["Deployment", "LeaderWorkerSet", "StatefulSet"];

/// Kinds that run to an end or begin at times: two of them do the same work twice.
const RUN: &[&str] = &["CronJob", "Job", "JobSet", "TrainJob"];

/// What belongs to a workload and has its name.
const OF_IT: &[&str] = &["HorizontalPodAutoscaler", "PodDisruptionBudget"];

/// The name by which others reach it.
const SERVICE: &str = "Service";

/// A workload that left, and what came in its place.
pub(super) struct Moved<'a> {
    change: &'a Change,
    kind: &'a str,
    old: &'a str,
    new: &'a str,
}

impl Rollout<'_> {
    fn named(&self, fate: ClusterFate) -> impl Iterator<Item = (&Change, &str, &str)> {
        let these = self.changes.iter().filter(move |it| it.fate == fate);
        these.flat_map(|change| {
            let names = change.names.iter();
            names.map(move |name| (change, change.kind.as_str(), name.as_str()))
        })
    }

    /// Workloads that left where exactly one of their kind came that has their name or their namespace.
    pub(super) fn workloads_moved(&self) -> Vec<Moved<'_>> {
        if self.setting.prunes {
            return Vec::new();
        }
        let gone = self.named(ClusterFate::Removed);
        let gone = gone.filter(|(_, kind, _)| SERVE.contains(kind) || RUN.contains(kind));
        let moved = gone.filter_map(|(change, kind, old)| {
            let (space, name) = old.split_once('/')?;
            let came = self
                .named(ClusterFate::Added)
                .filter(|(_, of, _)| *of == kind);
            let came: Vec<&str> = came.map(|(.., new)| new).collect();
            let like = |is_it: &dyn Fn(&str, &str) -> bool| {
                let mut like = came
                    .iter()
                    .filter(|new| new.split_once('/').is_some_and(|(of, new)| is_it(of, new)));
                let first = like.next()?;
                like.next().is_none().then_some(*first)
            };
            let new = like(&|_, new| new == name).or_else(|| like(&|of, _| of == space))?;
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

    /// What would do its work twice leaves before the other is brought.
    pub(super) fn runs_twice(&self) -> Option<Step> {
        let all = self.workloads_moved().into_iter();
        let all: Vec<Moved<'_>> = all.filter(|it| RUN.contains(&it.kind)).collect();
        let words: Vec<String> = all.iter().map(Moved::words).collect();
        let changes: Vec<&Change> = all.iter().map(|it| it.change).collect();
        let commands = all.iter().map(|it| self.removed(it.kind, it.old));
        (!all.is_empty()).then(|| Step {
            what: format!(
                "{}: {}, and both do the same work, each on GPUs of its own. Delete the old before the new is brought, when \
                 what runs in it has ended or has saved its state",
                words.join("; "),
                self.setting.nobody()
            ),
            commands: commands.collect(),
            changes: super::unique(ids(&changes)),
        })
    }

    /// What serves under another name is deleted as soon as that does.
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
                    services.push(format!("{} is {} now", address(it.old), address(it.new)));
                }
                commands.push(self.removed(kind, name));
                changes.push(change);
            }
        }
        let callers = if services.is_empty() {
            String::new()
        } else {
            format!(
                " The address of a Service changes: {}. Have who calls it use the new one before",
                services.join(", ")
            )
        };
        (!all.is_empty()).then(|| Step {
            what: format!(
                "{}: {}, and both run, each on GPUs of its own, until you delete the old one. Where GPUs do not suffice for \
                 both, the new one waits for that.{callers}",
                words.join("; "),
                self.setting.nobody()
            ),
            commands,
            changes: super::unique(ids(&changes)),
        })
    }
}

impl Moved<'_> {
    fn words(&self) -> String {
        format!("{} {} is {} now", self.kind, self.old, self.new)
    }
}

/// What pods reach a Service by.
fn address(name: &str) -> String {
    match name.split_once('/') {
        Some((namespace, name)) => format!("{name}.{namespace}.svc"),
        None => name.to_owned(),
    }
}
