//! What the tree's README says of a cluster.

use gpuc_schema::config::{Autoscaler, DevicePlugin, DriverOwner, TaintEffect};
use gpuc_schema::gpu::placement;

use crate::check::Checked;
use crate::model::{MachineType, Operands, Pool, PoolTaint, SetBy, Sharing};
use crate::plan::{PoolSummary, ResourceSummary, Summary};

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
        pools: pools.map(pool).collect(),
        notes: notes(cluster),
    }
}

fn pool(pool: &Pool) -> PoolSummary {
    let nodes = pool.nodes.sure();
    let per_node = u64::from(pool.gpus.sure().map_or(0, |gpus| gpus.per_node));
    PoolSummary {
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
        taints: pool.taints.iter().map(taint).collect(),
        driver: if pool.has_gpus() {
            driver(pool.driver.value).to_owned()
        } else {
            String::new()
        },
        plugin: if pool.has_gpus() {
            plugin(pool.plugin.value).to_owned()
        } else {
            String::new()
        },
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

fn plugin(plugin: DevicePlugin) -> &'static str {
    match plugin {
        DevicePlugin::Gpuc => "gpuc-runtime",
        DevicePlugin::Nvidia => "NVIDIA's device plugin",
        DevicePlugin::Operator => "the NVIDIA GPU Operator",
        DevicePlugin::Cloud => "the cloud",
    }
}

/// Who adds nodes, where somebody does.
fn autoscaler(autoscaler: Autoscaler) -> Option<&'static str> {
    match autoscaler {
        Autoscaler::None => None,
        Autoscaler::ClusterAutoscaler => Some(
            "The Cluster Autoscaler adds the nodes, and this tree does not install it. Until it runs in the cluster, every \
             pool stays at its fewest nodes.",
        ),
        Autoscaler::Karpenter => {
            Some("Karpenter adds and removes nodes between a pool's fewest and most.")
        }
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
    Some(format!(
        "The NVIDIA GPU Operator serves {}. Labels of the nodes say what of it runs where; before it changes a node's \
         driver or slices it sends away whatever holds a GPU there.{apart}",
        names(&served)
    ))
}

fn names(pools: &[&Pool]) -> String {
    let names: Vec<_> = pools.iter().map(|pool| pool.name.value.as_str()).collect();
    names.join(", ")
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
        notes.extend(autoscaler(cluster.autoscaler.value).map(str::to_owned));
    }
    let ours: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Gpuc).collect();
    if !ours.is_empty() {
        notes.push(format!(
            "gpuc-runtime serves {}: it offers the GPUs, labels the nodes, watches and measures. No other device plugin, \
             feature discovery or GPU exporter is wanted there.",
            names(&ours)
        ));
    }
    notes.extend(operator(cluster));
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
