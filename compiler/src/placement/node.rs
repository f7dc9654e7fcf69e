//! The machine itself: its size, its CPUs, its taints, and how many there are.

use gpuc_schema::Span;

use super::demand::Amount;
use super::taints::{effect, untolerated};
use super::{Answer, Demand, Reason, Tolerated, Why, devices};
use crate::cloud::machine::CpuArchitecture;
use crate::model::{Cluster, MachineType, Pool, PoolTaint, Room, SetBy};

pub(super) fn look(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    size(demand, cluster, pool, reasons);
    disk(demand, cluster, pool, reasons);
    architecture(demand, pool, reasons);
    taints(demand, cluster, pool, reasons);
    nodes(demand, cluster, pool, reasons);
}

/// Where the pool says what its machines are.
fn machine_span(pool: &Pool) -> Span {
    let written = pool.written.machine.as_ref();
    written.map_or(pool.name.span, |machine| machine.span)
}

fn size(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let (cpu, memory) = cluster.room(pool);
    let mut larger = |asked: Option<Amount>, has: Option<Room>, why: fn(u64, Room) -> Why| {
        let asked = asked.zip(has);
        let Some((asked, has)) = asked.filter(|(asked, has)| asked.value > has.left) else {
            return;
        };
        reasons.push(Reason {
            why: why(asked.value, has),
            answer: Answer::No,
            asked: asked.span,
            place: has.said.unwrap_or_else(|| machine_span(pool)),
        });
    };
    larger(demand.cpu, cpu, |asked, has| Why::Cpu { asked, has });
    larger(demand.memory, memory, |asked, has| Why::Memory {
        asked,
        has,
    });
}

/// The node's disk is for all of its pods, and some of it for the node itself.
fn disk(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let disk = cluster.cloud.node_disk(cluster, pool);
    let Some((asked, has)) = demand.disk.zip(disk) else {
        return;
    };
    if asked.value > has.bytes {
        reasons.push(Reason {
            why: Why::Disk {
                asked: asked.value,
                has: has.bytes,
            },
            answer: Answer::No,
            asked: asked.span,
            place: has.said.unwrap_or_else(|| machine_span(pool)),
        });
    }
}

/// What the machine's CPUs run, where that is certain.
pub(super) fn known_architecture(pool: &Pool) -> Option<CpuArchitecture> {
    match pool.machine.get()? {
        MachineType::Catalog(machine) => Some(machine.architecture),
        MachineType::Cpu(cpu) => Some((*cpu)?.architecture),
        MachineType::Host => None,
    }
}

fn architecture(demand: &Demand, pool: &Pool, reasons: &mut Vec<Reason>) {
    let Some(asked) = &demand.architecture else {
        return;
    };
    let has = known_architecture(pool);
    if has == Some(asked.value) || pool.machine.is_hole() {
        return;
    }
    reasons.push(Reason {
        why: Why::Architecture {
            asked: asked.value,
            has,
        },
        answer: if has.is_some() {
            Answer::No
        } else {
            Answer::Perhaps
        },
        asked: asked.span,
        place: machine_span(pool),
    });
}

fn taints(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let added = demand
        .resources
        .iter()
        .filter(|request| cluster.cloud.facts().tolerates_resources && request.count > 0);
    let added = added.map(|request| Tolerated {
        key: request.resource.value.clone(),
        exists: true,
        value: String::new(),
        effect: "NoSchedule".to_owned(),
        span: Span::NONE,
    });
    let tolerations: Vec<_> = demand.tolerations.iter().cloned().chain(added).collect();
    for taint in untolerated(&pool.taints, &tolerations) {
        let near = demand.tolerations.iter().find(|it| it.key == taint.key);
        reasons.push(Reason {
            why: Why::Taint {
                taint: written(taint),
                by_cloud: taint.set_by == SetBy::Cloud,
            },
            answer: Answer::No,
            asked: near.map_or(Span::NONE, |near| near.span),
            place: taint.span,
        });
    }
}

/// A taint as `kubectl taint` takes it.
fn written(taint: &PoolTaint) -> String {
    let equals = if taint.value.is_empty() { "" } else { "=" };
    let effect = effect(taint.effect);
    format!("{}{equals}{}:{effect}", taint.key, taint.value)
}

/// How many nodes the pods need that must run at once. A node never holds more than its size allows.
fn nodes(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    let (Some(pods), Some(nodes)) = (&demand.pods, pool.nodes.get()) else {
        return;
    };
    let (cpu, memory) = cluster.room(pool);
    let times = |asked: Option<Amount>, has: Option<Room>| {
        let (asked, has) = asked.zip(has)?;
        has.left.checked_div(asked.value)
    };
    let of_size = [times(demand.cpu, cpu), times(demand.memory, memory)];
    let alone = demand.apart.then_some(1);
    let on_a_node = of_size
        .into_iter()
        .chain([devices::pods_on_a_node(demand, cluster, pool), alone])
        .flatten()
        .min();
    // One that does not fit at all has a reason of its own.
    let Some(on_a_node) = on_a_node.filter(|count| *count > 0) else {
        return;
    };
    let asked = u64::from(pods.value);
    let needed = asked.div_ceil(on_a_node);
    let most = u64::from(nodes.max);
    if needed > most {
        reasons.push(Reason {
            why: Why::Nodes {
                pods: asked,
                needed,
                most,
            },
            answer: Answer::No,
            asked: pods.span,
            place: nodes.max_span,
        });
    }
}
