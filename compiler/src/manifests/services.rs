//! What the services of the manifests keep busy, beside those of the file: pods that run until somebody takes them
//! away.
//!
//! Everything here is what is there at least. What an autoscaler may add, what may be the same object in another
//! file, and what several pods may share counts for nothing.

use std::collections::BTreeMap;

use crate::check::together;
use crate::model::{Cluster, WORKLOAD_LABEL};
use crate::node::Node;
use crate::placement::{Answer, Demand, Load};
use crate::source::Span;

use super::claims::{CLAIM, may_meet, of_pod};
use super::place::held;
use super::pod::Pod;
use super::read::Object;
use super::{Scene, completed, ray, sets, volumes};

/// Kinds with so many pods as `replicas` says.
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

/// Kinds that set how many pods others have.
const SCALERS: &[&str] = &["HorizontalPodAutoscaler", "ScaledObject"];

/// How many pods there are of a kind, and where that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    /// How many.
    pub(super) pods: u64,
    /// Where it is written.
    pub(super) span: Option<Span>,
}

/// Pods of a controller: their place among all, and how many there are.
type Part<'p, 's> = (usize, &'p Pod<'s>, Count);

/// What runs for good.
pub(super) struct Services<'s> {
    /// The file's own, then those of the manifests.
    pub(super) loads: Vec<Load<'s>>,
    /// How many of them are the file's.
    own: usize,
}

impl<'s> Services<'s> {
    /// Those of the file and of the manifests.
    pub(super) fn of(scene: &Scene<'s>) -> Self {
        Self::counted(scene, None)
    }

    /// The same, one with as many pods as its autoscaler may make: where that is written is its place.
    pub(super) fn with_most(scene: &Scene<'s>, scaler: &Object, most: Count) -> Self {
        Self::counted(scene, Some((scaler, most)))
    }

    fn counted(scene: &Scene<'s>, scaled: Option<(&Object, Count)>) -> Self {
        let mut loads = together::loads(scene.cluster);
        loads.retain(|load| load.lasts);
        let own = loads.len();
        // Of what may be one object in two files, for two clusters or two stages, the smaller one is certain.
        let mut smallest: BTreeMap<_, Vec<Part<'_, 's>>> = BTreeMap::new();
        let mut part = 0;
        let scalers: Vec<_> = scene.objects.iter().filter(|it| is_scaler(it)).collect();
        for (index, pod) in scene.pods.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &scene.pods[before]);
            let goes_on = before.is_some_and(|it| std::ptr::eq(it.object, pod.object));
            part = if goes_on { part + 1 } else { 0 };
            let most = scaled.filter(|(scaler, _)| {
                let is_replicated = REPLICATED.contains(&pod.object.kind.as_str());
                is_replicated && may_meet(scaler, pod.object) && scales(scaler, pod.object)
            });
            let count = most.map(|it| it.1).or_else(|| least(&scalers, pod));
            let count = count.filter(|it| it.pods > 0);
            let Some(count) = count.filter(|_| !is_of_file(scene.cluster, pod.object)) else {
                continue;
            };
            let alike = smallest.entry((&pod.object.kind, &pod.object.name, part));
            let alike = alike.or_default();
            let mut others = alike.iter_mut();
            match others.find(|(_, other, _)| may_meet(other.object, pod.object)) {
                Some(other) if other.2.pods > count.pods => *other = (index, pod, count),
                Some(_) => {}
                None => alike.push((index, pod, count)),
            }
        }
        let mut pods: Vec<_> = smallest.into_values().flatten().collect();
        pods.sort_unstable_by_key(|(index, ..)| *index);
        let most = scaled.and_then(|(_, most)| most.span);
        for (_, pod, count) in pods {
            let load = load(scene, pod, count);
            // Of several that ask, the one that is asked about is where it is said.
            loads.extend(load.map(|load| Load {
                patched: most.is_some() && count.span == most,
                ..load
            }));
        }
        for pod in scene.pods.iter().filter(|pod| pod.is_of_nodes()) {
            loads.extend(on_nodes(scene, pod));
        }
        Self { loads, own }
    }

    /// The same as quotas see them: without queues they count by the name of a resource alone, from whatever pool it
    /// is.
    pub(super) fn seen_by_quotas(mut self, cluster: &'s Cluster) -> Self {
        if !cluster.has_queues() {
            for load in &mut self.loads[self.own..] {
                load.pools = cluster.pools.iter().collect();
            }
        }
        self
    }

    /// The same, with what claims of volumes of the manifests hold.
    pub(super) fn with_volumes(mut self, scene: &Scene<'s>) -> Self {
        self.loads.extend(volumes::loads(scene));
        self
    }

    /// Whether one of these is a manifest's.
    pub(super) fn is_news(&self, loads: &[usize]) -> bool {
        loads.iter().any(|index| *index >= self.own)
    }
}

/// Whether an object sets how many pods others have.
pub(super) fn is_scaler(object: &Object) -> bool {
    SCALERS.contains(&object.kind.as_str())
}

/// How many pods an autoscaler may make.
///
/// Source: kedacore/keda `apis/keda/v1alpha1/scaledobject_types.go`, `MaxReplicaCount` (from memory).
pub(super) fn most(scaler: &Object) -> Option<Count> {
    let key = match scaler.kind.as_str() {
        "HorizontalPodAutoscaler" => "maxReplicas",
        _ => "maxReplicaCount",
    };
    let written = scaler.root.get("spec")?.get(key)?;
    let pods = written.text()?.parse().ok()?;
    let span = Some(written.span());
    Some(Count { pods, span })
}

/// The pods of a controller, and how many it has of each: what is written, whoever changes it later.
pub(super) fn count(pod: &Pod<'_>) -> Option<Count> {
    let object = pod.object;
    if ray::is_service(object) {
        return ray::count(pod);
    }
    if completed::is_served(object) {
        return completed::served(pod);
    }
    let spec = object.root.get("spec")?;
    if REPLICATED.contains(&object.kind.as_str()) {
        return number(spec, "replicas");
    }
    if object.kind != "LeaderWorkerSet" {
        return None;
    }
    // Source: kubernetes-sigs/lws `api/leaderworkerset/v1/leaderworkerset_types.go` (from memory).
    let template = spec.get("leaderWorkerTemplate")?;
    let (sets, size) = (number(spec, "replicas")?, number(template, "size")?);
    let is_leader = |it: &Node| std::ptr::eq(it, pod.spec);
    let leader = template.get("leaderTemplate");
    let each = match leader {
        Some(leader) if leader.get("spec").is_some_and(is_leader) => 1,
        Some(_) => size.pods.saturating_sub(1),
        None => size.pods,
    };
    Some(Count {
        pods: sets.pods.saturating_mul(each),
        span: sets.span.or(size.span),
    })
}

/// One where nothing is written; nothing where it is no number.
pub(super) fn number(spec: &Node, key: &str) -> Option<Count> {
    let Some(written) = spec.get(key) else {
        return Some(Count {
            pods: 1,
            span: None,
        });
    };
    let pods = written.text()?.parse().ok()?;
    let span = Some(written.span());
    Some(Count { pods, span })
}

/// How many pods there are at least while nobody takes the service away.
fn least(scalers: &[&Object], pod: &Pod<'_>) -> Option<Count> {
    let metadata = pod.object.root.get("metadata");
    // What another object owns, that one counts.
    if metadata.is_some_and(|it| it.get("ownerReferences").is_some()) {
        return None;
    }
    let count = count(pod)?;
    let scalers = scalers.iter();
    let scalers = scalers.filter(|it| may_meet(it, pod.object) && scales(it, pod.object));
    let least = scalers.map(|scaler| {
        let spec = scaler.root.get("spec");
        // Source: kedacore/keda `apis/keda/v1alpha1/scaledobject_types.go`, `MinReplicaCount` (from memory).
        let (key, otherwise) = match scaler.kind.as_str() {
            "HorizontalPodAutoscaler" => ("minReplicas", 1),
            _ => ("minReplicaCount", 0),
        };
        let written = spec.and_then(|it| it.get(key));
        let pods = written.and_then(|it| it.text()?.parse().ok());
        Count {
            pods: pods.unwrap_or(otherwise),
            span: written.map(Node::span),
        }
    });
    let Some(least) = least.min_by_key(|it| it.pods) else {
        return Some(count);
    };
    // What somebody scaled to nothing is left alone.
    Some(Count {
        pods: if count.pods == 0 { 0 } else { least.pods },
        span: if least.pods > count.pods {
            least.span
        } else {
            count.span
        },
    })
}

/// How many pods an object makes at once: what it says, or the least that its autoscaler makes, if that is more.
pub(super) fn at_once(scene: &Scene<'_>, pod: &Pod<'_>) -> Option<Count> {
    let count = count(pod)?;
    let is_replicated = REPLICATED.contains(&pod.object.kind.as_str());
    let scalers = scene
        .objects
        .iter()
        .filter(|it| is_replicated && SCALERS.contains(&it.kind.as_str()));
    let least = least(&scalers.collect::<Vec<_>>(), pod);
    Some(least.filter(|it| it.pods > count.pods).unwrap_or(count))
}

/// Whether an object sets how many pods another one has.
fn scales(scaler: &Object, object: &Object) -> bool {
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

/// Whether an object is what gpuc makes of a workload of the file.
pub(super) fn is_of_file(cluster: &Cluster, object: &Object) -> bool {
    let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
    let is_labelled = labels.is_some_and(|it| it.get(WORKLOAD_LABEL).is_some());
    let mut workloads = cluster.written.workloads.iter();
    let is_named = workloads.any(|workload| {
        let namespace = object.namespace.as_deref();
        let is_near = namespace.is_none_or(|it| it == cluster.namespace_of(workload));
        is_near && object.name.as_deref() == Some(workload.name.as_str())
    });
    is_labelled || is_named
}

fn load<'s>(scene: &Scene<'s>, pod: &Pod<'s>, count: Count) -> Option<Load<'s>> {
    let (demand, verdicts) = held(scene.cluster, &scene.claims, pod)?;
    let verdicts = verdicts.iter();
    let pools: Vec<_> = verdicts
        .filter(|verdict| verdict.answer() != Answer::No)
        .map(|verdict| verdict.pool)
        .collect();
    // What no pool holds is another finding.
    pools.first()?;
    let each = volumes::of_templates(pod.object).map_or(0, |it| it.0);
    Some(Load {
        span: count.span.unwrap_or_else(|| place(pod)),
        pools,
        storage: each.saturating_mul(count.pods),
        ..plain(scene, pod, count.pods, demand)
    })
}

/// What a DaemonSet takes of the GPUs of each pool on whose nodes it is for certain.
fn on_nodes<'s>(scene: &Scene<'s>, pod: &Pod<'s>) -> Vec<Load<'s>> {
    let held = held(scene.cluster, &scene.claims, pod).filter(|_| pod.with_gpus().next().is_some());
    let Some((demand, verdicts)) = held else {
        return Vec::new();
    };
    let certain = verdicts.iter().filter(|it| it.answer() == Answer::Yes);
    let load = certain.filter_map(|verdict| {
        let most = u64::from(verdict.pool.nodes.get()?.max);
        Some(Load {
            team: None,
            pools: vec![verdict.pool],
            ..plain(scene, pod, most, demand.clone())
        })
    });
    load.collect()
}

/// What a pod keeps busy, so many times; nowhere yet.
pub(super) fn plain<'s>(scene: &Scene<'s>, pod: &Pod<'s>, pods: u64, demand: Demand) -> Load<'s> {
    let namespace = pod.object.namespace.as_deref();
    let team = namespace.and_then(|it| scene.cluster.team_of(it));
    // Pods that name one claim share what it has.
    let is_shared = of_pod(pod).iter().any(|claim| claim.kind() == CLAIM);
    let claims = if is_shared { Vec::new() } else { demand.claims };
    Load {
        workload: None,
        title: pod.title(),
        namespace,
        team: team.map(|(team, _)| team.name.as_str()),
        span: place(pod),
        patched: false,
        lasts: true,
        groups: vec![sets::group(
            scene.cluster,
            pod.object,
            pods,
            Demand { claims, ..demand },
        )],
        pools: Vec::new(),
        storage: 0,
    }
}

/// Where a pod asks for GPUs, or else where it begins.
fn place(pod: &Pod<'_>) -> Span {
    let gpus = pod.with_gpus().find_map(super::pod::Container::gpus);
    gpus.map_or_else(|| pod.spec.span(), |entry| entry.key_span)
}
