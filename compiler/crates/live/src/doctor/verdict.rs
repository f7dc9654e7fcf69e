//! What a pending pod waits for: one reason for each pod, from the nodes that come nearest to its requirements.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::context::{Context, NodeFacts};
use super::demand::PodDemand;
use super::pending::PendingPod;
use super::placement::Misfit;
use super::{is_removal_taint, is_startup_taint};
use crate::objects::{Event, NodeTaint, ObjectRef, Quantity};
use crate::state::Kind;

/// What a pending pod waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pod fits on a node, or gpuc does not know what it waits for.
    Unknown,
    /// No node has the resource.
    NotOffered {
        /// The resource.
        resource: String,
    },
    /// The nodes that the pod would fit on do not have their GPUs.
    GpusMissing {
        /// The resource.
        resource: String,
    },
    /// The pod requests more than any node has.
    TooLarge {
        /// The resource.
        resource: String,
        /// The most that a node has, in thousandths.
        largest: u64,
    },
    /// The pod does not tolerate the taints of the nodes that it fits on otherwise.
    Tainted {
        /// The taints of the nearest node.
        taints: Vec<NodeTaint>,
        /// The nodes with these taints, the nearest first.
        nodes: Arc<[ObjectRef]>,
    },
    /// The node selector or the node affinity matches no node that has the GPUs.
    Unmatched {
        /// The node with the smallest difference.
        nearest: ObjectRef,
    },
    /// Only cordoned nodes fit.
    Cordoned {
        /// The nodes.
        nodes: Arc<[ObjectRef]>,
    },
    /// The nodes that fit are not ready for pods.
    NotReady {
        /// The nodes.
        nodes: Arc<[ObjectRef]>,
    },
    /// Other pods use the GPUs.
    InUse {
        /// The resource.
        resource: String,
        /// The free units on all nodes that fit.
        free: u64,
        /// All units on these nodes.
        total: u64,
        /// The nodes that fit.
        nodes: Arc<[ObjectRef]>,
    },
    /// Enough GPUs are free, but not on one node.
    Fragmented {
        /// The resource.
        resource: String,
        /// The free units on all nodes that fit.
        free: u64,
        /// The most free units on one node.
        largest: u64,
        /// The nodes that fit.
        nodes: Arc<[ObjectRef]>,
    },
    /// GPUs are free, but another resource is used up or absent on their nodes.
    Stranded {
        /// The resources that lack.
        resources: Vec<String>,
        /// Whether the nodes do not have the resources at all.
        is_absent: bool,
        /// The nodes with free GPUs.
        nodes: Arc<[ObjectRef]>,
    },
}

/// A node and why the pod does not fit.
#[derive(Clone, Copy)]
struct Candidate<'c, 's> {
    node: &'c NodeFacts<'s>,
    misfits: &'c [Misfit],
}

impl Candidate<'_, '_> {
    fn has(&self, is_wanted: impl Fn(&Misfit) -> bool) -> bool {
        self.misfits.iter().any(is_wanted)
    }

    fn has_only(&self, is_accepted: impl Fn(&Misfit) -> bool) -> bool {
        self.misfits.iter().all(is_accepted)
    }
}

/// Whether a resource is one of NVIDIA.
fn is_gpu(resource: &str) -> bool {
    resource.starts_with("nvidia.com/")
}

/// Whether no pod should tolerate a taint: the node starts, has a fault, or is about to be removed.
fn is_temporary(taint: &NodeTaint) -> bool {
    taint.key.starts_with("node.kubernetes.io/")
        || is_startup_taint(&taint.key)
        || is_removal_taint(&taint.key)
}

fn is_temporary_taint(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::Taint(taint) if is_temporary(taint))
}

fn is_lasting_taint(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::Taint(taint) if !is_temporary(taint))
}

fn is_label(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::Label { .. } | Misfit::Affinity)
}

fn is_in_use(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::InUse { .. })
}

fn is_too_small(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::TooSmall { .. })
}

fn is_small_gpu(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::TooSmall { resource } if is_gpu(resource))
}

fn is_used_gpu(misfit: &Misfit) -> bool {
    matches!(misfit, Misfit::InUse { resource } if is_gpu(resource))
}

fn objects(candidates: &[Candidate<'_, '_>]) -> Arc<[ObjectRef]> {
    candidates.iter().map(|it| it.node.object()).collect()
}

fn filter<'c, 's>(
    candidates: &[Candidate<'c, 's>],
    keeps: impl Fn(&Candidate<'c, 's>) -> bool,
) -> Vec<Candidate<'c, 's>> {
    candidates.iter().copied().filter(keeps).collect()
}

/// What a pod waits for, from the misfits of each node with GPUs.
pub(super) fn find_verdict(
    ctx: &Context<'_>,
    demand: &PodDemand,
    nodes: &[(ObjectRef, Vec<Misfit>)],
    would_fit_somewhere: bool,
) -> Verdict {
    if nodes.iter().any(|(_, misfits)| misfits.is_empty()) {
        return Verdict::Unknown;
    }
    let all: Vec<Candidate<'_, '_>> = (ctx.gpu_nodes().zip(nodes))
        .map(|(node, (_, misfits))| Candidate { node, misfits })
        .collect();
    let is_offered = |resource: &str| {
        let mut offered = ctx.nodes.iter().flat_map(NodeFacts::offered);
        offered.any(|(name, capacity, _)| name == resource && capacity > 0)
    };
    if let Some((resource, _)) = demand.gpus().find(|(name, _)| !is_offered(name)) {
        if is_claimed(ctx, resource) {
            return Verdict::Unknown;
        }
        let resource = resource.to_owned();
        return Verdict::NotOffered { resource };
    }
    let capable = filter(&all, |it| !it.has(is_small_gpu));
    // Nodes that the pod may use now, apart from their resources and temporary taints.
    let open = filter(&capable, |it| {
        !it.has(|misfit| {
            is_label(misfit) || is_lasting_taint(misfit) || *misfit == Misfit::Cordoned
        })
    });
    let is_full = open.iter().all(|it| it.has(is_too_small));
    if is_full && would_fit_somewhere {
        let resource = demand.gpus().next().map(|(name, _)| name.to_owned());
        return resource.map_or(Verdict::Unknown, |resource| Verdict::GpusMissing {
            resource,
        });
    }
    if capable.is_empty() {
        let resources = demand.gpus().map(|(name, _)| name.to_owned());
        return find_too_large(demand, &all, resources).unwrap_or(Verdict::Unknown);
    }
    if open.is_empty() {
        return judge_closed(demand, &all, &capable);
    }
    judge_open(ctx, demand, &open)
}

/// Whether Kubernetes creates a ResourceClaim for a resource, because a DeviceClass has it. The devices are in
/// ResourceSlices, not in the status of nodes.
fn is_claimed(ctx: &Context<'_>, resource: &str) -> bool {
    let class = resource.strip_prefix("deviceclass.resource.kubernetes.io/");
    ctx.state.objects(Kind::DeviceClass).iter().any(|it| {
        class == Some(it.metadata.name.as_str())
            || it.text("/spec/extendedResourceName") == resource
    })
}

/// The resource of which the pod requests more than any of the nodes has.
fn find_too_large(
    demand: &PodDemand,
    nodes: &[Candidate<'_, '_>],
    resources: impl Iterator<Item = String>,
) -> Option<Verdict> {
    let most = |resource: &str| {
        let amounts = nodes.iter().filter_map(|it| {
            let amount = it.node.node.status.allocatable.get(resource);
            amount.and_then(Quantity::thousandths)
        });
        amounts.max().unwrap_or_default()
    };
    let mut resources = resources.map(|resource| {
        let largest = most(&resource);
        (resource, largest)
    });
    let requested = |resource: &str| demand.requests.get(resource).copied().unwrap_or_default();
    let (resource, largest) =
        resources.find(|(resource, largest)| requested(resource) > *largest)?;
    Some(Verdict::TooLarge { resource, largest })
}

/// The verdict if the pod may use none of the nodes with GPUs.
fn judge_closed(
    demand: &PodDemand,
    all: &[Candidate<'_, '_>],
    capable: &[Candidate<'_, '_>],
) -> Verdict {
    let cordoned = filter(capable, |it| {
        it.has_only(|misfit| {
            *misfit == Misfit::Cordoned || is_in_use(misfit) || is_temporary_taint(misfit)
        })
    });
    if !cordoned.is_empty() {
        let nodes = objects(&cordoned);
        return Verdict::Cordoned { nodes };
    }
    let mut tainted = filter(capable, |it| !it.has(is_label) && it.has(is_lasting_taint));
    tainted.sort_by_key(|it| it.misfits.len());
    let taints_of = |it: &Candidate<'_, '_>| -> Vec<NodeTaint> {
        let taints = it.misfits.iter().filter_map(|misfit| match misfit {
            Misfit::Taint(taint) if !is_temporary(taint) => Some(taint.clone()),
            _ => None,
        });
        taints.collect()
    };
    if let Some(first) = tainted.first() {
        let taints = taints_of(first);
        let same = filter(&tainted, |it| taints_of(it) == taints);
        let nodes = objects(&same);
        return Verdict::Tainted { taints, nodes };
    }
    // Nodes that the pod selects, but that have too few GPUs.
    let small = filter(all, |it| {
        let mut gpus = demand.gpus();
        !it.has(is_label)
            && !it.has(is_lasting_taint)
            && gpus.all(|(name, _)| it.node.allocatable(name) > 0)
    });
    let resources = demand.gpus().map(|(name, _)| name.to_owned());
    if let Some(verdict) = find_too_large(demand, &small, resources).filter(|_| !small.is_empty()) {
        return verdict;
    }
    let labels = filter(capable, |it| it.has(is_label));
    match labels.iter().min_by_key(|it| it.misfits.len()) {
        Some(nearest) => Verdict::Unmatched {
            nearest: nearest.node.object(),
        },
        None => Verdict::Cordoned {
            nodes: objects(capable),
        },
    }
}

/// The verdict if only resources or temporary taints of these nodes keep the pod away.
fn judge_open(ctx: &Context<'_>, demand: &PodDemand, open: &[Candidate<'_, '_>]) -> Verdict {
    let steady = filter(open, |it| !it.has(is_temporary_taint));
    if steady.is_empty() {
        let nodes = objects(open);
        return Verdict::NotReady { nodes };
    }
    let resources_of = |candidates: &[Candidate<'_, '_>]| -> Vec<String> {
        let misfits = candidates.iter().flat_map(|it| it.misfits);
        let resources = misfits.filter_map(|misfit| match misfit {
            Misfit::TooSmall { resource } | Misfit::InUse { resource } => Some(resource.clone()),
            _ => None,
        });
        let resources: BTreeSet<String> = resources.collect();
        resources.into_iter().collect()
    };
    let busy = filter(&steady, |it| it.has_only(is_in_use));
    if busy.is_empty() {
        let small = steady.iter().flat_map(|it| it.misfits);
        let small = small.filter_map(|misfit| match misfit {
            Misfit::TooSmall { resource } => Some(resource.clone()),
            _ => None,
        });
        let small: BTreeSet<String> = small.collect();
        return match find_too_large(demand, &steady, small.iter().cloned()) {
            Some(Verdict::TooLarge {
                resource,
                largest: 0,
            }) => Verdict::Stranded {
                resources: vec![resource],
                is_absent: true,
                nodes: objects(&steady),
            },
            Some(verdict) => verdict,
            None => Verdict::Stranded {
                resources: small.into_iter().collect(),
                is_absent: false,
                nodes: objects(&steady),
            },
        };
    }
    let idle = filter(&busy, |it| !it.has(is_used_gpu));
    if !idle.is_empty() {
        return Verdict::Stranded {
            resources: resources_of(&idle),
            is_absent: false,
            nodes: objects(&idle),
        };
    }
    let resources = resources_of(&busy);
    let Some(resource) = resources.into_iter().find(|it| is_gpu(it)) else {
        return Verdict::Unknown;
    };
    let free_units = busy.iter().map(|it| {
        let allocatable = it.node.allocatable(&resource);
        let used = ctx.usage().get(it.node.name());
        let used = used.and_then(|used| used.get(&resource)).copied();
        allocatable.saturating_sub(used.unwrap_or_default().div_ceil(1000))
    });
    let free_units: Vec<u64> = free_units.collect();
    let add = |sum: u64, units: &u64| sum.saturating_add(*units);
    let free = free_units.iter().fold(0, add);
    let largest = free_units.into_iter().max().unwrap_or_default();
    let nodes = objects(&busy);
    let requested = demand.units(&resource);
    let is_fragmented = free >= requested && largest < requested;
    if is_fragmented {
        return Verdict::Fragmented {
            resource,
            free,
            largest,
            nodes,
        };
    }
    let total = busy.iter().map(|it| it.node.allocatable(&resource));
    let total = total.fold(0, |sum, units| add(sum, &units));
    Verdict::InUse {
        resource,
        free,
        total,
        nodes,
    }
}

/// The seconds in which the scheduler and autoscalers react to a pod.
const REACTION_SECONDS: u64 = 120;

/// The seconds in which an autoscaler creates a node with GPUs, and the driver and the device plugin start.
pub(super) const NODE_START_SECONDS: u64 = 900;

/// The pending pods with GPUs that are not about to be scheduled. All nodes are known.
pub(super) fn stuck_pods<'c, 's>(ctx: &'c Context<'s>) -> impl Iterator<Item = &'c PendingPod<'s>> {
    let knows_nodes = ctx.state.completeness(Kind::Node).is_complete();
    let pods = ctx.pending_pods().iter().filter(move |_| knows_nodes);
    pods.filter(|pending| is_stuck(ctx, pending))
}

fn is_stuck(ctx: &Context<'_>, pending: &PendingPod<'_>) -> bool {
    // The scheduler evicts other pods for it.
    if !pending.pod.status.nominated_node_name.is_empty() {
        return false;
    }
    let is_new = waiting_seconds(ctx, pending).is_some_and(|it| it < REACTION_SECONDS);
    // A node that had enough time to start explains the pod, whatever the autoscaler did.
    let is_old = |node: &ObjectRef| {
        let node = ctx.node(&node.name);
        let age = node.and_then(|it| ctx.age(it.node.metadata.creation_timestamp));
        age.is_none_or(|seconds| seconds >= NODE_START_SECONDS)
            && !node.is_some_and(|node| ctx.is_plugin_new(node))
    };
    let would_fit = &pending.obstacles.would_fit;
    if would_fit.iter().any(is_old) {
        return !is_new;
    }
    let is_starting = !would_fit.is_empty();
    !is_new && !is_starting && !is_scaling_up(ctx, pending)
}

/// The seconds since the pod was created.
pub(super) fn waiting_seconds(ctx: &Context<'_>, pending: &PendingPod<'_>) -> Option<u64> {
    let condition = pending.pod.condition("PodScheduled");
    let changed = condition.and_then(|it| it.last_transition_time);
    ctx.age(changed.max(pending.pod.metadata.creation_timestamp))
}

/// Whether an autoscaler creates a node for the pod.
///
/// Source: kubernetes-sigs/cluster-autoscaler `core/scaleup`, kubernetes-sigs/karpenter
/// `pkg/controllers/provisioning/scheduling/events.go`, 2026-11-28.
fn is_scaling_up(ctx: &Context<'_>, pending: &PendingPod<'_>) -> bool {
    let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
    let refused = ["NotTriggerScaleUp", "FailedScaleUp"].map(|reason| ctx.event(&object, reason));
    let refused = refused.into_iter().flatten();
    let refused = refused.filter_map(Event::last_seen).max();
    ["TriggeredScaleUp", "Nominated"].iter().any(|reason| {
        let event = ctx.event(&object, reason);
        event.is_some_and(|event| {
            let age = ctx.age(event.last_seen());
            let is_recent = age.is_none_or(|seconds| seconds < NODE_START_SECONDS);
            // The autoscaler does not consider the pod again while it waits for its node.
            is_recent && event.last_seen() >= refused
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{diagnose_objects, list_objects, pending_pod};

    /// A node as JSON, with a pod that uses its GPUs if `used` is not 0.
    fn node(name: &str, kind: &str) -> String {
        let (mut labels, mut spec, mut gpus, mut used) = ("\"pool\": \"a\"", "", "2", "0");
        let mut memory = "8Gi";
        match kind {
            "labels" => labels = "\"pool\": \"b\"",
            "taint" => spec = r#""taints": [{"key": "team", "effect": "NoSchedule"}]"#,
            "removed" => {
                spec = r#""taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]"#;
            }
            "cordoned" => spec = r#""unschedulable": true"#,
            "small" => memory = "1Gi",
            "used" => used = "2",
            "none" => gpus = "0",
            _ => {}
        }
        format!(
            r#"{{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "{name}", "labels": {{{labels},
                "nvidia.com/gpu.present": "true"}}}}, "spec": {{{spec}}},
              "status": {{"capacity": {{"nvidia.com/gpu": "{gpus}"}},
                "allocatable": {{"pods": "9", "memory": "{memory}", "nvidia.com/gpu": "{gpus}"}},
                "conditions": [{{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}}]}}}},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "on-{name}", "namespace": "kube-system"}},
                "spec": {{"nodeName": "{name}",
                  "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "{used}"}}}}}}]}},
                "status": {{"phase": "Running"}}}}"#
        )
    }

    /// The codes of all findings about a pod that requests one GPU, 2 GiB and a node of the pool `a`.
    fn find(kinds: &[&str]) -> (Vec<&'static str>, String) {
        find_with(kinds, &[])
    }

    /// The same, with more objects.
    fn find_with(kinds: &[&str], others: &[&str]) -> (Vec<&'static str>, String) {
        let pod = pending_pod("nvidia.com/gpu", "11:00:00")
            .replace(
                r#""spec": {"#,
                r#""spec": {"nodeSelector": {"pool": "a"}, "#,
            )
            .replace(r#""limits": {"#, r#""limits": {"memory": "2Gi", "#);
        let nodes = kinds.iter().enumerate();
        let mut items: Vec<String> = nodes
            .map(|(index, kind)| node(&format!("gpu-{index}"), kind))
            .collect();
        items.push(pod);
        items.extend(others.iter().map(|it| (*it).to_owned()));
        let (diagnosis, text) = diagnose_objects("", &list_objects(&items));
        let causes = diagnosis.causes.iter();
        let findings = causes.flat_map(|it| std::iter::once(&it.finding).chain(&it.consequences));
        let about_pod = findings.filter(|it| it.subjects.iter().any(|it| it.name == "train-0"));
        (about_pod.map(|it| it.code.id).collect(), text)
    }

    #[test]
    fn each_pod_that_fits_nowhere_has_one_reason() {
        let kinds = [
            "labels", "taint", "removed", "cordoned", "small", "used", "none",
        ];
        for first in kinds {
            for second in kinds {
                let (found, text) = find(&[first, second]);
                assert_eq!(found.len(), 1, "{first}, {second}: {text}");
                let (found, text) = find(&[first, "healthy", second]);
                assert!(found.is_empty(), "{first}, {second}: {text}");
            }
        }
    }

    #[test]
    fn nodes_do_not_offer_the_resource_of_a_device_class() {
        let class = r#"{"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "a.gpuc.dev"},
            "spec": {"extendedResourceName": "RESOURCE"}}"#;
        let with = |resource: &str| find_with(&["none"], &[&class.replace("RESOURCE", resource)]).0;
        assert_eq!(with("nvidia.com/mig-1g.10gb"), ["GPUC7501"]);
        assert_eq!(with("nvidia.com/gpu"), [""; 0]);
    }

    #[test]
    fn the_nearest_node_decides() {
        for (kinds, expected) in [
            (&["labels", "used"], "GPUC7505"),
            (&["taint", "used"], "GPUC7505"),
            (&["small", "used"], "GPUC7505"),
            (&["labels", "taint"], "GPUC7503"),
            (&["labels", "cordoned"], "GPUC7508"),
            (&["taint", "cordoned"], "GPUC7508"),
            (&["labels", "small"], "GPUC7502"),
            (&["labels", "none"], "GPUC7501"),
            (&["none", "none"], "GPUC7501"),
            (&["removed", "taint"], "GPUC7505"),
        ] {
            let (found, text) = find(kinds);
            assert_eq!(found, [expected], "{kinds:?}: {text}");
        }
    }
}
