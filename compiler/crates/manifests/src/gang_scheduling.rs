//! Gangs: jobs whose pods wait for each other, so that all of them must run at once.

use gpuc_model::Cluster;
use gpuc_model::scheduling::{Feasibility, RunningWorkload};
use gpuc_syntax::node::Node;

use super::object::Object;
use super::pod::{Pod, is_created_from};
use super::pod_count::PodCount;
use super::running_workloads::{merge_workload, workload_without_pools};
use super::scheduling::{evaluate_pools, is_queued};
use super::{CheckContext, jobs, ray};

/// A job whose pods run at once.
pub(super) struct Gang<'s> {
    /// The pods of each role, such as the launcher and the workers, with the pools that they fit on.
    pub(super) roles: Vec<RunningWorkload<'s>>,
    object: &'s Object,
}

impl<'s> Gang<'s> {
    /// The pods of all roles as one workload. Its pools are those of all roles.
    pub(super) fn merged(&self) -> RunningWorkload<'s> {
        let mut total = self.roles[0].clone();
        for role in &self.roles[1..] {
            merge_workload(&mut total, role.clone());
        }
        total
    }
}

/// The jobs whose pods run at once: jobs whose pods certainly wait for each other (`is_certain`), or the others, where
/// it depends on the program.
pub(super) fn find_gangs<'s>(ctx: &CheckContext<'s>, is_certain: bool) -> Vec<Gang<'s>> {
    let mut gangs: Vec<Gang<'s>> = Vec::new();
    for pod in &ctx.pods {
        let waits = runs_as_gang(ctx.cluster, pod);
        let count = gang_pods(ctx.cluster, pod).filter(|it| it.pods > 0 && waits == is_certain);
        let Some(PodCount { pods, span }) = count else {
            continue;
        };
        let Some((demand, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
            continue;
        };
        let evaluations = evaluations.iter();
        let pools =
            evaluations.filter(|evaluation| evaluation.feasibility() != Feasibility::DoesNotFit);
        let plain = workload_without_pools(ctx, pod, pods, demand);
        let workload = RunningWorkload {
            span: span.unwrap_or(plain.span),
            is_long_running: false,
            pools: pools.map(|evaluation| evaluation.pool).collect(),
            ..plain
        };
        match gangs.last_mut() {
            Some(gang) if std::ptr::eq(gang.object, pod.object) => gang.roles.push(workload),
            _ => gangs.push(Gang {
                roles: vec![workload],
                object: pod.object,
            }),
        }
    }
    gangs
}

/// The number of pods that must run at once; `None` if one may run without the others, or it is not known.
///
/// Source: kubeflow/trainer `pkg/apis/trainer/v1alpha1/trainjob_types.go`, `Trainer.NumNodes`; kubeflow/trainer
/// release-1.9 `pkg/apis/kubeflow.org/v1/common_types.go`, `ReplicaSpec` and `SchedulingPolicy.MinAvailable`;
/// volcano-sh/apis `pkg/apis/batch/v1alpha1/job.go`, `JobSpec.MinAvailable` (from memory).
pub(super) fn gang_pods(cluster: &Cluster, pod: &Pod<'_>) -> Option<PodCount> {
    let object = pod.object;
    let spec = object.root.get("spec")?;
    // Kueue resumes suspended jobs.
    let is_queued = is_queued(cluster, pod);
    if is_suspended(spec) && !is_queued {
        return None;
    }
    if is_job_set(object) {
        return jobs::job_set_pods(pod).filter(|_| is_queued || !jobs::is_sequential(object));
    }
    if ray::is_ray_job(object) {
        return ray::cluster_pods(pod);
    }
    if object.is_in_group("trainer.kubeflow.org") && object.kind == "TrainJob" {
        return parse_pod_count(spec.get("trainer")?.get("numNodes"));
    }
    if object.is_in_group("batch.volcano.sh") && object.kind == "Job" {
        let tasks = spec.get("tasks").map_or(&[][..], Node::items);
        let all = tasks.iter().map(|task| parse_number(task.get("replicas")));
        let all = all.collect::<Option<Vec<_>>>()?;
        let all = all.into_iter().fold(0, u64::saturating_add);
        let min = spec.get("minAvailable");
        let needs_all = min.is_none() || parse_number(min)? >= all;
        let own = tasks.iter().find(|task| is_created_from(task, pod))?;
        return parse_pod_count(own.get("replicas")).filter(|_| needs_all);
    }
    if !object.is_in_group("kubeflow.org") || spec.get("elasticPolicy").is_some() {
        return None;
    }
    let policy = spec
        .get("runPolicy")
        .and_then(|it| it.get("schedulingPolicy"));
    if policy.is_some_and(|it| it.get("minAvailable").is_some()) {
        return None;
    }
    let roles = spec.entries().iter();
    let roles = roles.filter(|entry| entry.key.ends_with("ReplicaSpecs"));
    let mut roles = roles.flat_map(|entry| entry.value.entries());
    let own = roles.find(|role| is_created_from(&role.value, pod))?;
    parse_pod_count(own.value.get("replicas"))
}

/// Whether the pods of a job must run at once. Jobs of a JobSet may be independent of each other, but start together in
/// a queue.
fn runs_as_gang(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    !is_job_set(pod.object) || is_queued(cluster, pod)
}

fn is_job_set(object: &Object) -> bool {
    object.is_in_group("jobset.x-k8s.io") && object.kind == "JobSet"
}

fn parse_pod_count(written: Option<&Node>) -> Option<PodCount> {
    Some(PodCount {
        pods: parse_number(written)?,
        span: written.map(Node::span),
    })
}

fn is_suspended(spec: &Node) -> bool {
    let policy = spec.get("runPolicy").and_then(|it| it.get("suspend"));
    let mut all = [spec.get("suspend"), policy].into_iter().flatten();
    all.any(|it| it.text() == Some("true"))
}

/// Parses a number: 1 if it is not set, `None` if it is invalid.
fn parse_number(written: Option<&Node>) -> Option<u64> {
    written.map_or(Some(1), |node| node.text()?.parse().ok())
}
