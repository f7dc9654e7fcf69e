//! The workloads of services, from the manifests and from the file: pods that run until they are deleted.
//!
//! All workloads are minimums. Pods that an autoscaler may add, objects that may be the same one in another file, and
//! claims that several pods may share are not counted.

use std::collections::BTreeMap;

use gpuc_model::Cluster;
use gpuc_model::scheduling::{Feasibility, RunningWorkload, contention};
use gpuc_syntax::node::Node;

use super::claims::may_share_namespace;
use super::context::CheckContext;
use super::generated_objects::is_generated_workload;
use super::object::Object;
use super::pod::Pod;
use super::pod_count::{PodCount, parse_pod_count};
use super::running_workloads::{request_span, workload_without_pools};
use super::scheduling::evaluate_pools;
use super::{operator_pods, ray, volumes};

/// Kinds with `replicas` pods.
///
/// Source: kubernetes `pkg/apis/apps/types.go`; argoproj/argo-rollouts `pkg/apis/rollouts/v1alpha1/types.go`,
/// `RolloutSpec.Replicas` (from memory).
const REPLICATED: &[&str] = &[
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
    "Rollout",
];

/// Kinds that scale others.
const SCALERS: &[&str] = &["HorizontalPodAutoscaler", "ScaledObject"];

/// Pods of a controller: the index among all pods, and their number.
type ControllerPods<'p, 's> = (usize, &'p Pod<'s>, PodCount);

/// The workloads of services.
pub(super) struct ServiceWorkloads<'s> {
    /// The workloads of the file, then those of the manifests.
    pub(super) workloads: Vec<RunningWorkload<'s>>,
    /// The number of workloads of the file.
    file_workload_count: usize,
}

impl<'s> ServiceWorkloads<'s> {
    /// The services of the file and of the manifests.
    pub(super) fn from_context(ctx: &CheckContext<'s>) -> Self {
        Self::collect_workloads(ctx, None)
    }

    /// The same, with the target of `scaler` at its maximum. The workload has the span of the maximum.
    pub(super) fn with_max(ctx: &CheckContext<'s>, scaler: &Object, max: PodCount) -> Self {
        Self::collect_workloads(ctx, Some((scaler, max)))
    }

    fn collect_workloads(ctx: &CheckContext<'s>, scaled: Option<(&Object, PodCount)>) -> Self {
        let mut workloads = contention::running_workloads(ctx.cluster);
        workloads.retain(|workload| workload.is_long_running);
        let from_file = workloads.len();
        // An object in two files may be for two clusters or two stages: only the smaller one is certain.
        let mut smallest: BTreeMap<_, Vec<ControllerPods<'_, 's>>> = BTreeMap::new();
        let mut pod_index = 0;
        let scalers: Vec<_> = ctx.objects.iter().filter(|it| is_scaler(it)).collect();
        for (index, pod) in ctx.pods.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &ctx.pods[before]);
            let is_same_object = before.is_some_and(|it| std::ptr::eq(it.object, pod.object));
            pod_index = if is_same_object { pod_index + 1 } else { 0 };
            let max = scaled.filter(|(scaler, _)| {
                let is_replicated = REPLICATED.contains(&pod.object.kind.as_str());
                is_replicated
                    && may_share_namespace(scaler, pod.object)
                    && targets_object(scaler, pod.object)
            });
            let count = max.map(|it| it.1).or_else(|| min_pods(&scalers, pod));
            let count = count.filter(|it| it.pods > 0);
            let Some(count) = count.filter(|_| !is_generated_workload(ctx.cluster, pod.object))
            else {
                continue;
            };
            let candidates = smallest.entry((&pod.object.kind, &pod.object.name, pod_index));
            let alike = candidates.or_default();
            let mut others = alike.iter_mut();
            match others.find(|(_, other, _)| may_share_namespace(other.object, pod.object)) {
                Some(other) if other.2.pods > count.pods => *other = (index, pod, count),
                Some(_) => {}
                None => alike.push((index, pod, count)),
            }
        }
        let mut pods: Vec<_> = smallest.into_values().flatten().collect();
        pods.sort_unstable_by_key(|(index, ..)| *index);
        let max = scaled.and_then(|(_, max)| max.span);
        for (_, pod, count) in pods {
            let workload = service_workload(ctx, pod, count);
            // The scaled workload determines the span of a finding about several workloads.
            workloads.extend(workload.map(|workload| RunningWorkload {
                is_patched: max.is_some() && count.span == max,
                ..workload
            }));
        }
        for pod in ctx.pods.iter().filter(|pod| pod.is_of_daemon_set()) {
            workloads.extend(daemon_set_workloads(ctx, pod));
        }
        Self {
            workloads,
            file_workload_count: from_file,
        }
    }

    /// The same, as quotas count them: without queues they count a resource by its name, in any pool.
    pub(super) fn with_quota_pools(mut self, cluster: &'s Cluster) -> Self {
        if !cluster.has_queues() {
            for workload in &mut self.workloads[self.file_workload_count..] {
                workload.pools = cluster.pools.iter().collect();
            }
        }
        self
    }

    /// The same, with the storage of PersistentVolumeClaims among the manifests.
    pub(super) fn with_volumes(mut self, ctx: &CheckContext<'s>) -> Self {
        self.workloads.extend(volumes::claim_workloads(ctx));
        self
    }

    /// Whether one of these workloads is of the manifests, so that the finding is reported here.
    pub(super) fn includes_manifests(&self, indexes: &[usize]) -> bool {
        indexes
            .iter()
            .any(|index| *index >= self.file_workload_count)
    }
}

/// Whether an object scales others.
pub(super) fn is_scaler(object: &Object) -> bool {
    SCALERS.contains(&object.kind.as_str())
}

/// The maximum number of pods of an autoscaler.
///
/// Source: kedacore/keda `apis/keda/v1alpha1/scaledobject_types.go`, `MaxReplicaCount` (from memory).
pub(super) fn max_pods(scaler: &Object) -> Option<PodCount> {
    let key = match scaler.kind.as_str() {
        "HorizontalPodAutoscaler" => "maxReplicas",
        _ => "maxReplicaCount",
    };
    let written = scaler.root.get("spec")?.get(key)?;
    let pods = written.text()?.parse().ok()?;
    let span = Some(written.span());
    Some(PodCount { pods, span })
}

/// The written number of pods of a controller, regardless of autoscalers.
pub(super) fn configured_pods(pod: &Pod<'_>) -> Option<PodCount> {
    let object = pod.object;
    if ray::is_long_running(object) {
        return ray::cluster_pods(pod);
    }
    if operator_pods::is_inference_service(object) {
        return operator_pods::component_pods(pod);
    }
    let spec = object.root.get("spec")?;
    if REPLICATED.contains(&object.kind.as_str()) {
        return parse_pod_count(spec, "replicas");
    }
    if object.kind != "LeaderWorkerSet" {
        return None;
    }
    // Source: kubernetes-sigs/lws `api/leaderworkerset/v1/leaderworkerset_types.go` (from memory).
    let template = spec.get("leaderWorkerTemplate")?;
    let (sets, size) = (
        parse_pod_count(spec, "replicas")?,
        parse_pod_count(template, "size")?,
    );
    let is_leader = |it: &Node| std::ptr::eq(it, pod.spec);
    let leader = template.get("leaderTemplate");
    let each = match leader {
        Some(leader) if leader.get("spec").is_some_and(is_leader) => 1,
        Some(_) => size.pods.saturating_sub(1),
        None => size.pods,
    };
    Some(PodCount {
        pods: sets.pods.saturating_mul(each),
        span: sets.span.or(size.span),
    })
}

/// The minimum number of pods of a service until it is deleted.
fn min_pods(scalers: &[&Object], pod: &Pod<'_>) -> Option<PodCount> {
    let metadata = pod.object.root.get("metadata");
    // The pods of an owned object are counted at its owner.
    if metadata.is_some_and(|it| it.get("ownerReferences").is_some()) {
        return None;
    }
    let count = configured_pods(pod)?;
    let scalers = scalers.iter();
    let scalers =
        scalers.filter(|it| may_share_namespace(it, pod.object) && targets_object(it, pod.object));
    let min = scalers.map(|scaler| {
        let spec = scaler.root.get("spec");
        // Source: kedacore/keda `apis/keda/v1alpha1/scaledobject_types.go`, `MinReplicaCount` (from memory).
        let (key, default) = match scaler.kind.as_str() {
            "HorizontalPodAutoscaler" => ("minReplicas", 1),
            _ => ("minReplicaCount", 0),
        };
        let written = spec.and_then(|it| it.get(key));
        let pods = written.and_then(|it| it.text()?.parse().ok());
        PodCount {
            pods: pods.unwrap_or(default),
            span: written.map(Node::span),
        }
    });
    let Some(min) = min.min_by_key(|it| it.pods) else {
        return Some(count);
    };
    // Autoscalers do not change objects that are scaled to zero.
    Some(PodCount {
        pods: if count.pods == 0 { 0 } else { min.pods },
        span: if min.pods > count.pods {
            min.span
        } else {
            count.span
        },
    })
}

/// The number of pods that an object creates at once: the written number, or the minimum of its autoscaler if that is
/// higher.
pub(super) fn initial_pods(ctx: &CheckContext<'_>, pod: &Pod<'_>) -> Option<PodCount> {
    let count = configured_pods(pod)?;
    let is_replicated = REPLICATED.contains(&pod.object.kind.as_str());
    let scalers = ctx
        .objects
        .iter()
        .filter(|it| is_replicated && SCALERS.contains(&it.kind.as_str()));
    let min = min_pods(&scalers.collect::<Vec<_>>(), pod);
    Some(min.filter(|it| it.pods > count.pods).unwrap_or(count))
}

/// Whether an autoscaler targets an object.
fn targets_object(scaler: &Object, object: &Object) -> bool {
    let target = scaler
        .root
        .get("spec")
        .and_then(|it| it.get("scaleTargetRef"));
    let named = |target: &Node| {
        let name = target.get("name").and_then(Node::text);
        let kind = target.get("kind").and_then(Node::text);
        name == object.name.as_deref() && kind.unwrap_or("Deployment") == object.kind
    };
    target.is_some_and(named)
}

fn service_workload<'s>(
    ctx: &CheckContext<'s>,
    pod: &Pod<'s>,
    count: PodCount,
) -> Option<RunningWorkload<'s>> {
    let (demand, evaluations) = evaluate_pools(ctx.cluster, &ctx.claims, pod)?;
    let evaluations = evaluations.iter();
    let pools: Vec<_> = evaluations
        .filter(|evaluation| evaluation.feasibility() != Feasibility::DoesNotFit)
        .map(|evaluation| evaluation.pool)
        .collect();
    // Pods that fit no pool are reported by other rules.
    pools.first()?;
    let each = volumes::template_storage(pod.object).map_or(0, |it| it.0);
    Some(RunningWorkload {
        span: count.span.unwrap_or_else(|| request_span(pod)),
        pools,
        storage: each.saturating_mul(count.pods),
        ..workload_without_pools(ctx, pod, count.pods, demand)
    })
}

/// The workloads of a DaemonSet with GPUs, for each pool whose nodes it certainly runs on.
fn daemon_set_workloads<'s>(ctx: &CheckContext<'s>, pod: &Pod<'s>) -> Vec<RunningWorkload<'s>> {
    let evaluated = evaluate_pools(ctx.cluster, &ctx.claims, pod)
        .filter(|_| pod.gpu_containers().next().is_some());
    let Some((demand, evaluations)) = evaluated else {
        return Vec::new();
    };
    let fitting = evaluations
        .iter()
        .filter(|it| it.feasibility() == Feasibility::Fits);
    let workloads = fitting.filter_map(|evaluation| {
        let max = u64::from(evaluation.pool.nodes.get()?.max);
        Some(RunningWorkload {
            team: None,
            pools: vec![evaluation.pool],
            ..workload_without_pools(ctx, pod, max, demand.clone())
        })
    });
    workloads.collect()
}
