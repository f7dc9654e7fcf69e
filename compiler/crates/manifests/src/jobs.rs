//! The number of pods that Jobs, CronJobs and JobSets run at once.

use gpuc_model::Cluster;
use gpuc_syntax::node::Node;

use super::object::Object;
use super::pod::Pod;
use super::pod::is_created_from;
use super::pod_count::{PodCount, parse_pod_count};
use super::scheduling::is_queued;

/// The annotation that allows Kueue to start a Job with fewer pods than its parallelism.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/job/job_controller.go`, `JobMinParallelismAnnotation`, which
/// counts where it is less than `parallelism` (from memory).
const MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";

/// The specification of a Job, or of the Jobs that a CronJob creates.
pub(super) fn job_spec(object: &Object) -> Option<&Node> {
    let spec = object.root.get("spec");
    match object.kind.as_str() {
        "Job" if object.is_in_group("batch") => spec,
        "CronJob" if object.is_in_group("batch") => spec?.get("jobTemplate")?.get("spec"),
        _ => None,
    }
}

/// The number of pods that a Job runs at once, or the minimum if a queue may reduce it. A suspended Job has none,
/// unless it waits in a queue.
pub(super) fn job_pods(cluster: &Cluster, pod: &Pod<'_>) -> Option<PodCount> {
    let object = pod.object;
    let spec = job_spec(object)?;
    let is_queued = is_queued(cluster, pod);
    let is_suspended = spec.get("suspend").and_then(Node::text) == Some("true");
    if is_suspended && !is_queued {
        return Some(PodCount {
            pods: 0,
            span: None,
        });
    }
    let count = parallel_pods(spec)?;
    let annotations = object.root.get("metadata")?.get("annotations");
    let min = annotations
        .and_then(|it| it.get(MIN_PARALLELISM))
        .filter(|_| is_queued && object.kind == "Job")
        .and_then(|it| {
            let pods = it.text()?.parse().ok()?;
            let span = Some(it.span());
            Some(PodCount { pods, span })
        });
    Some(min.filter(|it| it.pods < count.pods).unwrap_or(count))
}

/// The parallelism of a Job, but at most its completions.
///
/// Source: kubernetes `pkg/controller/job/job_controller.go`, `manageJob` (from memory).
pub(super) fn parallel_pods(spec: &Node) -> Option<PodCount> {
    let at_once = parse_pod_count(spec, "parallelism")?;
    if spec.get("completions").is_none() {
        return Some(at_once);
    }
    let all = parse_pod_count(spec, "completions")?;
    Some(if all.pods < at_once.pods {
        all
    } else {
        at_once
    })
}

/// The number of pods of one template that a JobSet runs at once.
///
/// Source: kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `ReplicatedJob`; kubernetes-sigs/kueue
/// `pkg/controller/jobs/jobset/jobset_controller.go`, `podsCount` (from memory).
pub(super) fn job_set_pods(pod: &Pod<'_>) -> Option<PodCount> {
    let jobs = pod.object.root.get("spec")?.get("replicatedJobs")?.items();
    jobs.iter().find_map(|job| {
        let spec = job.get("template")?.get("spec")?;
        if !is_created_from(spec, pod) {
            return None;
        }
        let (jobs, each) = (parse_pod_count(job, "replicas")?, parallel_pods(spec)?);
        let (first, second) = if each.pods > 1 {
            (each, jobs)
        } else {
            (jobs, each)
        };
        Some(PodCount {
            pods: jobs.pods.saturating_mul(each.pods),
            span: first.span.or(second.span),
        })
    })
}

/// Whether some jobs of a JobSet start after others complete.
///
/// Source: kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `DependsOn.Status` (from memory).
pub(super) fn is_sequential(set: &Object) -> bool {
    let jobs = set.root.get("spec").and_then(|it| it.get("replicatedJobs"));
    let jobs = jobs.map_or(&[][..], Node::items).iter();
    let mut dependencies = jobs.flat_map(|job| job.get("dependsOn").map_or(&[][..], Node::items));
    dependencies.any(|it| it.get("status").and_then(Node::text) == Some("Complete"))
}
