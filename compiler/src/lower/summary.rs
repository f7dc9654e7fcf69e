//! What the tree's README says of a cluster.

use gpuc_schema::config::{Allocation, Autoscaler, DevicePlugin, DriverOwner, TaintEffect};
use gpuc_schema::gpu::placement;
use gpuc_schema::node_config::STARTUP_TAINT;

use super::{claims, driver_upgrades};
use crate::check::Checked;
use crate::model::{
    Claimed, DeviceClass, KubernetesVersion, MachineType, Operands, Pool, PoolTaint, Room, SetBy,
    Sharing,
};
use crate::node::Node;
use crate::placement::{What, gib};
use crate::plan::{ClassSummary, PoolSummary, ResourceSummary, Summary};

/// The cluster in words and numbers.
pub(super) fn summary(cluster: &Checked<'_>) -> Summary {
    let kubernetes = cluster.kubernetes.sure();
    let pools = cluster.pools.iter();
    let name = cluster.cloud.facts().name;
    let place = match cluster.written.cloud.location() {
        Some(location) => format!("{name}, {location}"),
        None => name.to_owned(),
    };
    Summary {
        place,
        kubernetes: kubernetes.value.to_string(),
        pools: pools.map(|it| pool(cluster, it)).collect(),
        teams: super::teams::summaries(cluster),
        promises: super::teams::promises(cluster),
        workloads: super::workloads::summaries(cluster),
        monitoring: super::monitoring::sentences(cluster),
        notes: notes(cluster),
    }
}

fn pool(cluster: &Checked<'_>, pool: &Pool) -> PoolSummary {
    let nodes = pool.nodes.sure();
    let per_node = u64::from(pool.gpus.sure().map_or(0, |gpus| gpus.per_node));
    let (cpu, memory) = cluster.room(pool);
    PoolSummary {
        cpu: room(cpu, |amount| What::Cpu.words(amount)),
        memory: room(memory, gib),
        name: pool.name.value.clone(),
        machine: machine(pool),
        image: format!("{:?}", pool.os.value),
        gpus: gpus(pool),
        sharing: sharing(pool.sharing.sure(), pool.has_gpus()),
        layout: layout(pool),
        min_nodes: nodes.min,
        max_nodes: nodes.max,
        min_gpus: per_node * u64::from(nodes.min),
        max_gpus: per_node * u64::from(nodes.max),
        resources: resources(pool),
        classes: (pool.classes.iter())
            .map(|it| class(cluster, pool, it))
            .collect(),
        claim: claim(pool),
        taints: pool.taints.iter().map(taint).collect(),
        driver: if pool.has_gpus() {
            driver(pool.driver.value).to_owned()
        } else {
            String::new()
        },
        plugin: if pool.has_gpus() {
            advertiser(pool).to_owned()
        } else {
            String::new()
        },
    }
}

/// What a node has for pods.
fn room(room: Option<Room>, words: impl Fn(u64) -> String) -> String {
    match room {
        None => String::new(),
        Some(room) if room.said.is_some() => words(room.left),
        Some(room) if room.left == room.whole => words(room.left),
        Some(room) => format!("{}, estimated", words(room.left)),
    }
}

fn machine(pool: &Pool) -> String {
    match (pool.machine.sure(), &pool.written.machine) {
        (MachineType::Catalog(machine), _) => machine.name.to_owned(),
        (MachineType::Cpu(_), Some(name)) => name.value.clone(),
        (MachineType::Cpu(_) | MachineType::Host, _) => "own hosts".to_owned(),
    }
}

fn gpus(pool: &Pool) -> String {
    let Some(gpus) = pool.gpus.sure() else {
        return String::new();
    };
    let part = match gpus.fraction {
        Some(part) if part.denominator > 0 => {
            format!(" ({}/{} of a card)", part.numerator, part.denominator)
        }
        Some(_) => " (part of a card)".to_owned(),
        None => String::new(),
    };
    format!("{} x {}{part}", gpus.per_node, gpus.model.key)
}

fn sharing(sharing: &Sharing, has_gpus: bool) -> String {
    match sharing {
        _ if !has_gpus => String::new(),
        Sharing::Exclusive => "exclusive".to_owned(),
        Sharing::TimeSlicing { replicas, .. } => format!("time-slicing, {replicas} on a GPU"),
        Sharing::Mps { replicas, .. } => format!("MPS, {replicas} on a GPU"),
        Sharing::Mig { strategy, .. } => {
            format!("MIG, {}", super::strategy_word(strategy.value))
        }
    }
}

/// One line for each run of GPUs with the same layout.
fn layout(pool: &Pool) -> Vec<String> {
    let (Sharing::Mig { gpus, .. }, Some(cards)) = (pool.sharing.sure(), pool.gpus.sure()) else {
        return Vec::new();
    };
    let Some(mig) = cards.model.mig else {
        return Vec::new();
    };
    let runs = gpus.chunk_by(|a, b| a.slices == b.slices);
    let line = |run: &[crate::model::MigGpu]| {
        let (first, last) = (run[0].index, run[run.len() - 1].index);
        let which = match last - first {
            0 => format!("GPU {first}"),
            _ => format!("GPUs {first}-{last}"),
        };
        let drawing = match run[0].slices.as_slice() {
            [] => "whole".to_owned(),
            slices => placement::diagram(slices, mig),
        };
        format!("{which}: {drawing}")
    };
    runs.map(line).collect()
}

fn resources(pool: &Pool) -> Vec<ResourceSummary> {
    let offers = pool.offers.sure().iter().chain(&pool.fabric);
    let summary = |offer: &crate::model::Offer| {
        let total = offer.total(pool.nodes.sure());
        ResourceSummary {
            name: offer.resource.clone(),
            per_node: offer.per_node,
            min: *total.start(),
            max: *total.end(),
        }
    };
    offers.map(summary).collect()
}

fn class(cluster: &Checked<'_>, pool: &Pool, class: &DeviceClass) -> ClassSummary {
    let total = class.total(pool.nodes.sure());
    let bridged = cluster.kubernetes.sure().value >= KubernetesVersion::FIRST_WITH_BRIDGE;
    let extended = class.extended_resource().filter(|_| bridged);
    let device = match (class.device, pool.sharing.sure()) {
        (Claimed::Gpu, Sharing::Mps { replicas, .. }) => {
            format!("a GPU with MPS, 1/{replicas} of it for each client")
        }
        (Claimed::Gpu, _) => "a GPU".to_owned(),
        (Claimed::Slice(profile), _) => format!("a slice {}", profile.name),
    };
    ClassSummary {
        name: class.name.clone(),
        device,
        per_node: class.per_node,
        min: *total.start(),
        max: *total.end(),
        quota: class.quota(),
        extended: extended.unwrap_or_default(),
    }
}

/// What somebody puts into a namespace to get a device of the pool's first class.
fn claim(pool: &Pool) -> Vec<Node> {
    let Some(class) = pool.classes.first() else {
        return Vec::new();
    };
    let template = claims::claim(&pool.name, None, (pool, class), 1);
    let pod = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("{}-test", pool.name)},
        "spec": claims::pod(pool, &pool.name),
    });
    [template, pod].map(Node::from_json).into()
}

fn taint(taint: &PoolTaint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    let by = match taint.set_by {
        SetBy::Gpuc => "",
        SetBy::Cloud => " (set by the cloud)",
    };
    let equals = if taint.value.is_empty() { "" } else { "=" };
    format!("{}{equals}{}:{effect}{by}", taint.key, taint.value)
}

fn driver(owner: DriverOwner) -> &'static str {
    match owner {
        DriverOwner::Preinstalled => "the node image or the cloud",
        DriverOwner::Operator => "the NVIDIA GPU Operator",
        DriverOwner::DaemonSet => "a DaemonSet of this tree",
        DriverOwner::Host => "the script for the host",
    }
}

fn advertiser(pool: &Pool) -> &'static str {
    if pool.allocation.value == Allocation::Dra {
        return crate::plan::ADVERTISED_BY_DRA;
    }
    match pool.plugin.value {
        DevicePlugin::Gpuc => crate::plan::ADVERTISED_BY_RUNTIME,
        DevicePlugin::Nvidia => crate::plan::ADVERTISED_BY_NVIDIA,
        DevicePlugin::Operator => crate::plan::ADVERTISED_BY_OPERATOR,
        DevicePlugin::Cloud => crate::plan::ADVERTISED_BY_CLOUD,
    }
}

/// Who adds nodes, where somebody does.
fn autoscaler(cluster: &Checked<'_>) -> Option<&'static str> {
    match cluster.autoscaler.value {
        Autoscaler::None => None,
        Autoscaler::ClusterAutoscaler if cluster.cloud.autoscaler_values(cluster).is_some() => {
            Some(
                "The Cluster Autoscaler, which this tree installs, adds and removes nodes between a pool's fewest and most.",
            )
        }
        Autoscaler::ClusterAutoscaler => Some(
            "The Cluster Autoscaler that is in the cluster adds and removes nodes between a pool's fewest and most.",
        ),
        Autoscaler::Karpenter => Some(
            "Karpenter, which this tree installs, makes a node for pods that wait, up to a pool's most, and removes empty ones; pools with a fixed number of nodes are not its own.",
        ),
        Autoscaler::Managed => {
            Some("The cloud's autoscaler adds and removes nodes between a pool's fewest and most.")
        }
    }
}

/// What the GPU Operator does where, if it is in the cluster.
fn operator(cluster: &Checked<'_>) -> Option<String> {
    let served: Vec<_> = cluster.operator_pools().map(|(pool, _)| pool).collect();
    if served.is_empty() {
        return None;
    }
    let apart: Vec<_> = cluster
        .gpu_pools()
        .map(|(pool, _)| pool)
        .filter(|pool| Operands::of(cluster.cloud, pool).is_none())
        .collect();
    let apart = match names(&apart).as_str() {
        "" => String::new(),
        names => {
            format!(" It keeps off {names} by the label nvidia.com/gpu.deploy.operands=false.")
        }
    };
    let cut = cluster.operator_pools().filter(|(_, does)| does.mig);
    let cut: Vec<_> = cut.map(|(pool, _)| pool).collect();
    let cut = match names(&cut).as_str() {
        "" => String::new(),
        names => format!(" {}", cutting(names)),
    };
    Some(format!(
        "The NVIDIA GPU Operator serves {}. Labels of the nodes say what of it runs where; before it changes a node's \
         driver it sends away whatever holds a GPU there.{cut}{apart}",
        names(&served)
    ))
}

/// What is to be known of nodes that the operator's MIG manager cuts. It takes the operator's own pods off a node by
/// their labels, the plugin's too, and nobody else's; it looks at a node when it starts and when its label changes.
///
/// Source: NVIDIA/mig-parted `pkg/mig/reconfigure`, read 2026-11-21; that it looks at its start: from memory.
fn cutting(pools: &str) -> String {
    format!(
        "Its MIG manager cuts the GPUs of {pools}. While it does, a node offers none; before it does, a new node may offer \
         whole GPUs as nvidia.com/gpu, and no taint keeps pods off. Pods that ask for slices by their own names wait. One \
         that got a whole GPU is not sent away and keeps the node from being cut: the node's label \
         nvidia.com/mig.config.state then says failed instead of success. Drain such a node, and delete the MIG manager's \
         pod on it, which then tries again."
    )
}

pub(super) fn names(pools: &[&Pool]) -> String {
    let names: Vec<_> = pools.iter().map(|pool| pool.name.value.as_str()).collect();
    names.join(", ")
}

/// Who keeps isolated teams apart.
fn isolation(cluster: &Checked<'_>) -> Option<String> {
    cluster.isolation().next()?;
    Some(if cluster.written.cloud.creates_cluster() {
        "Teams are isolated by NetworkPolicies, which the scripts in cloud/ have the cluster's network enforce.".to_owned()
    } else {
        format!(
            "Teams are isolated by NetworkPolicies, which hold only where the cluster's network enforces them: look for {}.",
            cluster.cloud.facts().policies_shown_by
        )
    })
}

/// What is to be known before the tree is applied.
fn notes(cluster: &Checked<'_>) -> Vec<String> {
    let by_cloud: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Cloud).collect();
    let existing: Vec<_> = cluster
        .pools
        .iter()
        .filter(|pool| pool.is_existing())
        .collect();
    let mut notes = Vec::new();
    if cluster
        .pools
        .iter()
        .any(|pool| !pool.nodes.sure().is_fixed())
    {
        notes.extend(autoscaler(cluster).map(str::to_owned));
    }
    let ours: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Gpuc).collect();
    let mut measured = ours.iter();
    let measures = measured.all(|pool| super::monitoring::runtime_measures(cluster, pool));
    if !ours.is_empty() {
        notes.push(format!(
            "gpuc-runtime serves {}: it offers the GPUs, labels the nodes, {}. No other device plugin{} is wanted there.{}",
            names(&ours),
            if measures { "watches and measures" } else { "and watches them" },
            if measures {
                ", GPU feature discovery or GPU exporter"
            } else {
                " or GPU feature discovery"
            },
            match cluster.written.charts.node_feature_discovery {
                Some(_) => " Node Feature Discovery, which `charts` names, labels what else a node has.",
                None => "",
            },
        ));
    }
    let starting = ours.iter().copied();
    let starting: Vec<_> = starting
        .filter(|pool| pool.startup_taint.is_some())
        .collect();
    if !starting.is_empty() {
        notes.push(format!(
            "New nodes of {} come with the taint {STARTUP_TAINT}; gpuc-runtime takes it off when it has cut their GPUs. \
             Pods must not tolerate it.",
            names(&starting)
        ));
    }
    let claimed: Vec<_> = cluster.pools_claimed().collect();
    if !claimed.is_empty() {
        notes.push(format!(
            "Pods claim the GPUs of {}: nvidia.com/gpu is not among what those nodes have. Containers share a GPU by \
             naming one ResourceClaim of their namespace. A class looks at the card alone, so that a pod names the pool's \
             nodes too.",
            names(&claimed)
        ));
        if cluster.kubernetes.sure().value >= KubernetesVersion::FIRST_WITH_BRIDGE {
            let limited = cluster
                .teams
                .iter()
                .any(|team| team.grants().next().is_some());
            notes.push(format!(
                "This Kubernetes makes a claim for a container that asks for nvidia.com/gpu as before: a whole GPU of \
                 any of these pools that the pod may run on.{}",
                if limited {
                    " Where a team has a quota of GPUs, that claim is refused: it would be counted for no pool."
                } else {
                    ""
                },
            ));
        }
    }
    notes.extend(isolation(cluster));
    notes.extend(operator(cluster));
    notes.extend(driver_upgrades::notes(cluster));
    notes.extend(super::storage::notes(cluster));
    if !by_cloud.is_empty() {
        notes.push(format!(
            "The cloud or the node's operating system advertises the GPUs of {}; this tree has no device plugin for \
             them, because two on one node would both offer the same GPUs.",
            names(&by_cloud)
        ));
    }
    if !existing.is_empty() {
        notes.push(format!(
            "The nodes of {} were made by hand; no script here touches them.",
            names(&existing)
        ));
    }
    notes
}
