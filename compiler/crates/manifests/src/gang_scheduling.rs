//! Gangs: jobs whose pods wait for each other, so that all of them must run at once.

use gpuc_model::Cluster;
use gpuc_model::scheduling::{Answer, Group, Load};
use gpuc_syntax::node::Node;

use super::pod::Pod;
use super::read::Object;
use super::scheduling::{held, is_queued};
use super::services::{Count, plain};
use super::{Scene, jobs, ray};

/// The loads of jobs whose pods run at once, if all pools that may fit a part of them are known: jobs whose pods
/// certainly wait for each other (`is_certain`), or the others, where it depends on the program.
pub(super) fn loads<'s>(scene: &Scene<'s>, is_certain: bool) -> Vec<Load<'s>> {
    let mut loads: Vec<(&Pod<'s>, Load<'s>)> = Vec::new();
    for pod in &scene.pods {
        let waits = is_gang(scene.cluster, pod);
        let count = at_once(scene.cluster, pod).filter(|it| it.pods > 0 && waits == is_certain);
        let Some(Count { pods, span }) = count else {
            continue;
        };
        let Some((demand, verdicts)) = held(scene.cluster, &scene.claims, pod) else {
            continue;
        };
        let verdicts = verdicts.iter();
        let pools = verdicts.filter(|verdict| verdict.answer() != Answer::No);
        let plain = plain(scene, pod, pods, demand);
        let part = Load {
            span: span.unwrap_or(plain.span),
            lasts: false,
            pools: pools.map(|verdict| verdict.pool).collect(),
            ..plain
        };
        match loads
            .last_mut()
            .filter(|(last, _)| std::ptr::eq(last.object, pod.object))
        {
            None => loads.push((pod, part)),
            Some((_, whole)) => join(whole, part),
        }
    }
    let loads = loads.into_iter().map(|(_, load)| load);
    loads.filter(|load| !load.pools.is_empty()).collect()
}

/// Adds a part to the load that it starts together with.
pub(super) fn join<'s>(whole: &mut Load<'s>, part: Load<'s>) {
    // The part with the most devices determines the span.
    if most_devices(&part) > most_devices(whole) {
        whole.span = part.span;
    }
    whole.groups.extend(part.groups);
    // A load may use the pools of all its parts.
    for pool in part.pools {
        if whole.pools.iter().all(|it| it.index != pool.index) {
            whole.pools.push(pool);
        }
    }
}

/// The maximum number of devices of one of the load's groups.
fn most_devices(load: &Load<'_>) -> u64 {
    let all = load.groups.iter().map(|group| {
        let counted = group.demand.resources.iter().map(|it| it.count);
        let claimed = group.demand.claims.iter().map(|it| it.count);
        let each: u64 = counted.chain(claimed).sum();
        each.saturating_mul(group.pods)
    });
    all.max().unwrap_or_default()
}

/// One pod of each group of a load, as separate loads.
pub(super) fn singles<'c>(load: &Load<'c>) -> Vec<Load<'c>> {
    let groups = load.groups.iter().map(|group| Load {
        groups: vec![Group {
            pods: 1,
            sets: vec![1],
            ..group.clone()
        }],
        ..load.clone()
    });
    groups.collect()
}

/// The number of pods that must run at once; `None` if one may run without the others, or it is not known.
///
/// Source: kubeflow/trainer `pkg/apis/trainer/v1alpha1/trainjob_types.go`, `Trainer.NumNodes`; kubeflow/trainer
/// release-1.9 `pkg/apis/kubeflow.org/v1/common_types.go`, `ReplicaSpec` and `SchedulingPolicy.MinAvailable`;
/// volcano-sh/apis `pkg/apis/batch/v1alpha1/job.go`, `JobSpec.MinAvailable` (from memory).
pub(super) fn at_once(cluster: &Cluster, pod: &Pod<'_>) -> Option<Count> {
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
    if ray::is_job(object) {
        return ray::count(pod);
    }
    if object.is_of("trainer.kubeflow.org") && object.kind == "TrainJob" {
        return count(spec.get("trainer")?.get("numNodes"));
    }
    if object.is_of("batch.volcano.sh") && object.kind == "Job" {
        let tasks = spec.get("tasks").map_or(&[][..], Node::items);
        let all = tasks.iter().map(|task| number(task.get("replicas")));
        let all = all.collect::<Option<Vec<_>>>()?;
        let all = all.into_iter().fold(0, u64::saturating_add);
        let min = spec.get("minAvailable");
        let needs_all = min.is_none() || number(min)? >= all;
        let own = tasks.iter().find(|task| holds(task, pod))?;
        return count(own.get("replicas")).filter(|_| needs_all);
    }
    if !object.is_of("kubeflow.org") || spec.get("elasticPolicy").is_some() {
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
    let own = roles.find(|role| holds(&role.value, pod))?;
    count(own.value.get("replicas"))
}

/// Whether the pods of a job must run at once. Jobs of a JobSet may be independent of each other, but start together in
/// a queue.
fn is_gang(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    !is_job_set(pod.object) || is_queued(cluster, pod)
}

fn is_job_set(object: &Object) -> bool {
    object.is_of("jobset.x-k8s.io") && object.kind == "JobSet"
}

fn count(written: Option<&Node>) -> Option<Count> {
    Some(Count {
        pods: number(written)?,
        span: written.map(Node::span),
    })
}

fn is_suspended(spec: &Node) -> bool {
    let policy = spec.get("runPolicy").and_then(|it| it.get("suspend"));
    let mut all = [spec.get("suspend"), policy].into_iter().flatten();
    all.any(|it| it.text() == Some("true"))
}

/// Whether a pod is created from the template below a node.
pub(super) fn holds(node: &Node, pod: &Pod<'_>) -> bool {
    let spec = node.get("template").and_then(|it| it.get("spec"));
    spec.is_some_and(|it| std::ptr::eq(it, pod.spec))
}

/// Parses a number: 1 if it is not set, `None` if it is invalid.
fn number(written: Option<&Node>) -> Option<u64> {
    written.map_or(Some(1), |node| node.text()?.parse().ok())
}
