//! The workloads of services, from the manifests and from the file: pods that run until they are deleted.
//!
//! All workloads are minimums. Pods that an autoscaler may add, objects that may be the same one in another file, and
//! claims that several pods may share are not counted.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::Cluster;
use gpuc_model::scheduling::{Feasibility, MisfitCause, Request, RunningWorkload, contention};
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
#[derive(Clone)]
pub(super) struct ServiceWorkloads<'s> {
    /// The workloads of the file, then those of the manifests.
    pub(super) workloads: Vec<RunningWorkload<'s>>,
    /// The number of workloads of the file.
    file_workload_count: usize,
    /// For the first workloads of the manifests: the indexes of their pods, sorted.
    service_pods: Vec<usize>,
    /// The indexes of the pods of objects that may be the same one in another file.
    duplicates: BTreeSet<usize>,
}

impl<'s> ServiceWorkloads<'s> {
    /// The services of the file and of the manifests.
    pub(super) fn from_context(ctx: &CheckContext<'s>) -> Self {
        Self::collect_workloads(ctx, None)
    }

    /// The same, with the target of `scaler` at its maximum. The workload has the span of the maximum.
    pub(super) fn with_max(&self, ctx: &CheckContext<'s>, scaler: &Object, max: PodCount) -> Self {
        let pods = ctx.pods.iter().enumerate();
        let scaled = pods.filter(|(_, pod)| scales(scaler, pod.object));
        let scaled: Vec<_> = scaled.collect();
        if scaled
            .iter()
            .any(|(index, _)| self.duplicates.contains(index))
        {
            // The maximum can change which of the objects is counted.
            return Self::collect_workloads(ctx, Some((scaler, max)));
        }
        let mut services = self.clone();
        for (index, pod) in scaled {
            let is_counted = max.pods > 0 && !is_generated_workload(ctx.cluster, pod.object);
            let workload = is_counted
                .then(|| service_workload(ctx, pod, max))
                .flatten();
            let workload = workload.map(|workload| RunningWorkload {
                is_patched: max.span.is_some(),
                ..workload
            });
            services.replace_service(index, workload);
        }
        services
    }

    /// Replaces the workload of a pod.
    fn replace_service(&mut self, pod: usize, workload: Option<RunningWorkload<'s>>) {
        let first = self.file_workload_count;
        match (self.service_pods.binary_search(&pod), workload) {
            (Ok(at), Some(workload)) => self.workloads[first + at] = workload,
            (Ok(at), None) => {
                self.service_pods.remove(at);
                self.workloads.remove(first + at);
            }
            (Err(at), Some(workload)) => {
                self.service_pods.insert(at, pod);
                self.workloads.insert(first + at, workload);
            }
            (Err(_), None) => {}
        }
    }

    fn collect_workloads(ctx: &CheckContext<'s>, scaled: Option<(&Object, PodCount)>) -> Self {
        let mut workloads = contention::running_workloads(ctx.cluster);
        workloads.retain(|workload| workload.is_long_running);
        let from_file = workloads.len();
        // An object in two files may be for two clusters or two stages: only the smaller one is certain.
        let mut smallest: BTreeMap<_, Vec<ControllerPods<'_, 's>>> = BTreeMap::new();
        let mut pod_index = 0;
        for (index, pod) in ctx.pods.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &ctx.pods[before]);
            let is_same_object = before.is_some_and(|it| std::ptr::eq(it.object, pod.object));
            pod_index = if is_same_object { pod_index + 1 } else { 0 };
            let max = scaled.filter(|(scaler, _)| scales(scaler, pod.object));
            let count = max.map(|it| it.1).or_else(|| min_pods(&ctx.scalers, pod));
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
        let mut service_pods = Vec::new();
        for (index, pod, count) in pods {
            let Some(workload) = service_workload(ctx, pod, count) else {
                continue;
            };
            service_pods.push(index);
            // The scaled workload determines the span of a finding about several workloads.
            workloads.push(RunningWorkload {
                is_patched: max.is_some() && count.span == max,
                ..workload
            });
        }
        for pod in ctx.pods.iter().filter(|pod| pod.is_of_daemon_set()) {
            workloads.extend(daemon_set_workloads(ctx, pod));
        }
        Self {
            workloads,
            file_workload_count: from_file,
            service_pods,
            duplicates: find_duplicates(ctx),
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

/// The autoscalers whose target is among the manifests, with their maximums.
pub(super) fn scalers_with_target<'s>(ctx: &CheckContext<'s>) -> Vec<(&'s Object, PodCount)> {
    let objects = ctx.pods.iter().map(|pod| pod.object);
    let targets: BTreeSet<_> = objects
        .filter(|it| REPLICATED.contains(&it.kind.as_str()))
        .map(|it| (it.kind.as_str(), it.name.as_deref()))
        .collect();
    let scalers = ctx.objects.iter().filter(|it| is_scaler(it));
    let scalers = scalers.filter(|it| scale_target(it).is_some_and(|it| targets.contains(&it)));
    scalers.filter_map(|it| Some((it, max_pods(it)?))).collect()
}

/// Whether an object scales others.
fn is_scaler(object: &Object) -> bool {
    SCALERS.contains(&object.kind.as_str())
}

/// The maximum number of pods of an autoscaler.
///
/// Source: kedacore/keda `apis/keda/v1alpha1/scaledobject_types.go`, `MaxReplicaCount` (from memory).
fn max_pods(scaler: &Object) -> Option<PodCount> {
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

/// The autoscalers among the manifests, by the kind and the name of their targets.
pub(crate) struct ScalerIndex<'s>(BTreeMap<(&'s str, &'s str), Vec<&'s Object>>);

impl<'s> ScalerIndex<'s> {
    /// Indexes the autoscalers among `objects`.
    pub(super) fn from_objects(objects: &'s [Object]) -> Self {
        let mut by_target: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for scaler in objects.iter().filter(|it| is_scaler(it)) {
            if let Some((kind, Some(name))) = scale_target(scaler) {
                by_target.entry((kind, name)).or_default().push(scaler);
            }
        }
        Self(by_target)
    }

    /// The autoscalers that target an object.
    fn targeting<'o>(
        &'o self,
        object: &'o Object,
    ) -> impl Iterator<Item = &'s Object> + use<'o, 's> {
        let key = object
            .name
            .as_deref()
            .map(|name| (object.kind.as_str(), name));
        let scalers = key.and_then(|key| self.0.get(&key));
        let scalers = scalers.into_iter().flatten().copied();
        scalers.filter(move |scaler| may_share_namespace(scaler, object))
    }
}

/// The minimum number of pods of a service until it is deleted.
fn min_pods(scalers: &ScalerIndex<'_>, pod: &Pod<'_>) -> Option<PodCount> {
    let metadata = pod.object.root.get("metadata");
    // The pods of an owned object are counted at its owner.
    if metadata.is_some_and(|it| it.get("ownerReferences").is_some()) {
        return None;
    }
    let count = configured_pods(pod)?;
    let min = scalers.targeting(pod.object).map(|scaler| {
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
    let min = is_replicated.then(|| min_pods(&ctx.scalers, pod)).flatten();
    Some(min.filter(|it| it.pods > count.pods).unwrap_or(count))
}

/// Whether an autoscaler determines the number of pods of an object.
fn scales(scaler: &Object, object: &Object) -> bool {
    targets_object(scaler, object)
        && may_share_namespace(scaler, object)
        && REPLICATED.contains(&object.kind.as_str())
}

/// The indexes of the pods of objects with the same kind and name, possibly in the same namespace.
fn find_duplicates(ctx: &CheckContext<'_>) -> BTreeSet<usize> {
    let mut by_name: BTreeMap<_, Vec<(usize, &Object)>> = BTreeMap::new();
    for (index, pod) in ctx.pods.iter().enumerate() {
        let alike = by_name.entry((&pod.object.kind, &pod.object.name));
        alike.or_default().push((index, pod.object));
    }
    let mut duplicates = BTreeSet::new();
    for alike in by_name.values() {
        let is_duplicate = |object: &Object| {
            let mut others = alike.iter().map(|(_, other)| *other);
            others.any(|other| !std::ptr::eq(other, object) && may_share_namespace(other, object))
        };
        let found = alike.iter().filter(|(_, object)| is_duplicate(object));
        duplicates.extend(found.map(|(index, _)| *index));
    }
    duplicates
}

/// Whether an autoscaler targets an object.
fn targets_object(scaler: &Object, object: &Object) -> bool {
    scale_target(scaler) == Some((object.kind.as_str(), object.name.as_deref()))
}

/// The kind and the name of an autoscaler's target.
fn scale_target(scaler: &Object) -> Option<(&str, Option<&str>)> {
    let target = scaler.root.get("spec")?.get("scaleTargetRef")?;
    let text = |key: &str| target.get(key).and_then(Node::text);
    Some((text("kind").unwrap_or("Deployment"), text("name")))
}

fn service_workload<'s>(
    ctx: &CheckContext<'s>,
    pod: &Pod<'s>,
    count: PodCount,
) -> Option<RunningWorkload<'s>> {
    let (demand, evaluations) = evaluate_pools(ctx.cluster, &ctx.claims, pod)?;
    let evaluations = evaluations.iter();
    let pools: Vec<_> = evaluations
        .clone()
        .filter(|evaluation| evaluation.feasibility() != Feasibility::DoesNotFit)
        .map(|evaluation| evaluation.pool)
        .collect();
    // Pods that fit no pool are reported by other rules.
    pools.first()?;
    // Other nodes may have a device that no pool of the file advertises.
    let is_advertised =
        |request: &Request| !ctx.pools_advertising(&request.resource.value).is_empty();
    let mut reasons = evaluations.flat_map(|evaluation| &evaluation.reasons);
    if reasons.any(|it| matches!(it.cause, MisfitCause::ResourceUnknown { .. }))
        && !demand.resources.iter().any(is_advertised)
    {
        return None;
    }
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
