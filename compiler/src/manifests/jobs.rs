//! How many pods Kubernetes' own jobs have at once, and those of sets of them.

use crate::model::Cluster;
use crate::node::Node;

use super::gangs::holds;
use super::place::is_queued;
use super::pod::Pod;
use super::read::Object;
use super::services::{Count, number};

/// The annotation by which a queue may start a Job with fewer pods than it asks for.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/job/job_controller.go`, `JobMinParallelismAnnotation`, which
/// counts where it is less than `parallelism` (from memory).
const LEAST: &str = "kueue.x-k8s.io/job-min-parallelism";

/// The specification of the Job that an object is, or that it makes every now and then.
pub(super) fn spec(object: &Object) -> Option<&Node> {
    let spec = object.root.get("spec");
    match object.kind.as_str() {
        "Job" if object.is_of("batch") => spec,
        "CronJob" if object.is_of("batch") => spec?.get("jobTemplate")?.get("spec"),
        _ => None,
    }
}

/// How many pods a Job has at once, at least where a queue may take some away. One that somebody suspended has none,
/// unless it is a queue that wakes it.
pub(super) fn of_job(cluster: &Cluster, pod: &Pod<'_>) -> Option<Count> {
    let object = pod.object;
    let spec = spec(object)?;
    let is_queued = is_queued(cluster, pod);
    let is_suspended = spec.get("suspend").and_then(Node::text) == Some("true");
    if is_suspended && !is_queued {
        return Some(Count {
            pods: 0,
            span: None,
        });
    }
    let count = pods(spec)?;
    let annotations = object.root.get("metadata")?.get("annotations");
    let least = annotations.and_then(|it| it.get(LEAST));
    let least = least.filter(|_| is_queued && object.kind == "Job");
    let fewer = least.and_then(|it| {
        let pods = it.text()?.parse().ok()?;
        let span = Some(it.span());
        Some(Count { pods, span })
    });
    Some(fewer.filter(|it| it.pods < count.pods).unwrap_or(count))
}

/// No more than are left to complete.
///
/// Source: kubernetes `pkg/controller/job/job_controller.go`, `manageJob` (from memory).
pub(super) fn pods(spec: &Node) -> Option<Count> {
    let at_once = number(spec, "parallelism")?;
    if spec.get("completions").is_none() {
        return Some(at_once);
    }
    let all = number(spec, "completions")?;
    Some(if all.pods < at_once.pods {
        all
    } else {
        at_once
    })
}

/// How many pods of a kind a `JobSet` has at once.
///
/// Source: kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `ReplicatedJob`; kubernetes-sigs/kueue
/// `pkg/controller/jobs/jobset/jobset_controller.go`, `podsCount` (from memory).
pub(super) fn of_set(pod: &Pod<'_>) -> Option<Count> {
    let jobs = pod.object.root.get("spec")?.get("replicatedJobs")?.items();
    jobs.iter().find_map(|job| {
        let spec = job.get("template")?.get("spec")?;
        if !holds(spec, pod) {
            return None;
        }
        let (jobs, each) = (number(job, "replicas")?, pods(spec)?);
        let (first, second) = if each.pods > 1 {
            (each, jobs)
        } else {
            (jobs, each)
        };
        Some(Count {
            pods: jobs.pods.saturating_mul(each.pods),
            span: first.span.or(second.span),
        })
    })
}

/// Whether some jobs of a `JobSet` are over before others begin.
///
/// Source: kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `DependsOn.Status` (from memory).
pub(super) fn come_in_turn(set: &Object) -> bool {
    let jobs = set.root.get("spec").and_then(|it| it.get("replicatedJobs"));
    let jobs = jobs.map_or(&[][..], Node::items).iter();
    let mut before = jobs.flat_map(|job| job.get("dependsOn").map_or(&[][..], Node::items));
    before.any(|it| it.get("status").and_then(Node::text) == Some("Complete"))
}
