//! The machines of a pool: size, CPU architecture, taints, and number of nodes.

use gpuc_schema::Span;

use super::demand::Amount;
use super::taints::untolerated;
use super::{Demand, Feasibility, MisfitCause, PodToleration, Reason, resources};
use crate::{Cluster, NodeCapacity, Pool, PoolTaint, SetBy};

pub(super) fn check(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    check_size(demand, cluster, pool, reasons);
    check_disk(demand, cluster, pool, reasons);
    check_architecture(demand, pool, reasons);
    check_taints(demand, cluster, pool, reasons);
    check_node_count(demand, cluster, pool, reasons);
}

/// The location of the pool's machine type.
fn machine_span(pool: &Pool) -> Span {
    let name = pool.machine_name.as_ref();
    name.map_or(pool.name.span, |name| name.span)
}

fn check_size(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let (cpu, memory) = cluster.node_capacity(pool);
    let mut larger = |requested: Option<Amount>,
                      capacity: Option<NodeCapacity>,
                      cause: fn(u64, NodeCapacity) -> MisfitCause| {
        let requested = requested.zip(capacity);
        let Some((requested, capacity)) =
            requested.filter(|(requested, capacity)| requested.value > capacity.allocatable)
        else {
            return;
        };
        reasons.push(Reason {
            cause: cause(requested.value, capacity),
            feasibility: Feasibility::DoesNotFit,
            request_span: requested.span,
            pool_span: capacity.span.unwrap_or_else(|| machine_span(pool)),
        });
    };
    larger(demand.cpu, cpu, |requested, capacity| MisfitCause::Cpu {
        requested,
        capacity,
    });
    larger(demand.memory, memory, |requested, capacity| {
        MisfitCause::Memory {
            requested,
            capacity,
        }
    });
}

/// Checks the disk request. The node's disk is shared by its pods and the node itself.
fn check_disk(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let disk = cluster.cloud.node_disk(cluster, pool);
    let Some((requested, node_disk)) = demand.disk.zip(disk) else {
        return;
    };
    if requested.value > node_disk.bytes {
        reasons.push(Reason {
            cause: MisfitCause::Disk {
                requested: requested.value,
                capacity: node_disk.bytes,
            },
            feasibility: Feasibility::DoesNotFit,
            request_span: requested.span,
            pool_span: node_disk.span.unwrap_or_else(|| machine_span(pool)),
        });
    }
}

fn check_architecture(demand: &Demand, pool: &Pool, reasons: &mut Vec<Reason>) {
    let Some(requested) = &demand.architecture else {
        return;
    };
    let architecture = pool.known_architecture();
    if architecture == Some(requested.value) || pool.machine.is_unresolved() {
        return;
    }
    reasons.push(Reason {
        cause: MisfitCause::Architecture {
            requested: requested.value,
            actual: architecture,
        },
        feasibility: if architecture.is_some() {
            Feasibility::DoesNotFit
        } else {
            Feasibility::Unknown
        },
        request_span: requested.span,
        pool_span: machine_span(pool),
    });
}

fn check_taints(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let added = demand
        .resources
        .iter()
        .filter(|request| cluster.cloud.facts().tolerates_requested_resources && request.count > 0);
    let added = added.map(|request| PodToleration {
        key: request.resource.value.clone(),
        matches_any_value: true,
        value: String::new(),
        effect: "NoSchedule".to_owned(),
        span: Span::NONE,
    });
    let tolerations: Vec<_> = demand.tolerations.iter().cloned().chain(added).collect();
    for taint in untolerated(&pool.taints, &tolerations) {
        let same_key = demand.tolerations.iter().find(|it| it.key == taint.key);
        reasons.push(Reason {
            cause: MisfitCause::Taint {
                taint: taint_text(taint),
                by_cloud: taint.set_by == SetBy::Cloud,
            },
            feasibility: Feasibility::DoesNotFit,
            request_span: same_key.map_or(Span::NONE, |same_key| same_key.span),
            pool_span: taint.span,
        });
    }
}

/// A taint in the syntax of `kubectl taint`.
fn taint_text(taint: &PoolTaint) -> String {
    let equals = if taint.value.is_empty() { "" } else { "=" };
    let effect = taint.effect.as_str();
    format!("{}{equals}{}:{effect}", taint.key, taint.value)
}

/// Checks the number of nodes that the pods need if they must run at the same time.
fn check_node_count(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let (Some(pods), Some(nodes)) = (&demand.pods, pool.nodes.get()) else {
        return;
    };
    let (cpu, memory) = cluster.node_capacity(pool);
    let pods_by_size = |requested: Option<Amount>, capacity: Option<NodeCapacity>| {
        let (requested, capacity) = requested.zip(capacity)?;
        capacity.allocatable.checked_div(requested.value)
    };
    let of_size = [
        pods_by_size(demand.cpu, cpu),
        pods_by_size(demand.memory, memory),
    ];
    let alone = demand.anti_affinity.then_some(1);
    let on_a_node = of_size
        .into_iter()
        .chain([resources::max_pods_per_node(demand, cluster, pool), alone])
        .flatten()
        .min();
    // A pod that does not fit on any node has another reason.
    let Some(on_a_node) = on_a_node.filter(|count| *count > 0) else {
        return;
    };
    let pod_count = u64::from(pods.value);
    let required_nodes = pod_count.div_ceil(on_a_node);
    let max_nodes = u64::from(nodes.max);
    if required_nodes > max_nodes {
        reasons.push(Reason {
            cause: MisfitCause::Nodes {
                pods: pod_count,
                required_nodes,
                max_nodes,
            },
            feasibility: Feasibility::DoesNotFit,
            request_span: pods.span,
            pool_span: nodes.max_span,
        });
    }
}
