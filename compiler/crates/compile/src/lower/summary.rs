//! The summary of a cluster for the generated README.

use gpuc_model::check::Checked;
use gpuc_model::plan::{DeviceClassSummary, PoolSummary, ResourceSummary, Summary};
use gpuc_model::scheduling::{QuotaResource, gib};
use gpuc_model::{
    DeviceClass, DeviceKind, MachineType, NodeCapacity, Operands, Pool, PoolTaint, SetBy, Sharing,
};
use gpuc_schema::config::{Allocation, Autoscaler, DevicePlugin, DriverOwner, OsFamily};
use gpuc_schema::gpu::placement;
use gpuc_schema::node_config::STARTUP_TAINT;
use gpuc_syntax::node::Node;

use super::{claims, driver_upgrades};

/// The summary of a cluster.
pub(super) fn summary(cluster: &Checked<'_>) -> Summary {
    let kubernetes = cluster.kubernetes.expect_resolved();
    let pools = cluster.pools.iter();
    let name = cluster.cloud.facts().name;
    let location = match cluster.config.cloud.location() {
        Some(location) => format!("{name}, {location}"),
        None => name.to_owned(),
    };
    Summary {
        location,
        kubernetes: kubernetes.value.to_string(),
        pools: pools.map(|it| pool(cluster, it)).collect(),
        teams: super::teams::summaries(cluster),
        quotas: super::teams::quota_totals(cluster),
        workloads: super::workloads::summaries(cluster),
        monitoring: super::monitoring::readme_sentences(cluster),
        notes: notes(cluster),
    }
}

fn pool(cluster: &Checked<'_>, pool: &Pool) -> PoolSummary {
    let nodes = pool.nodes.expect_resolved();
    let per_node = u64::from(pool.gpus.expect_resolved().map_or(0, |gpus| gpus.per_node));
    let (cpu, memory) = cluster.node_capacity(pool);
    PoolSummary {
        cpu: allocatable(cpu, |amount| QuotaResource::Cpu.format_amount(amount)),
        memory: allocatable(memory, gib),
        name: pool.name.value.clone(),
        machine: machine(cluster, pool),
        image: match pool.os.value {
            OsFamily::ProviderDefault => "selected by the owner".to_owned(),
            family => format!("{family:?}"),
        },
        gpus: gpus(pool),
        sharing: sharing(pool.sharing.expect_resolved(), pool.has_gpus()),
        layout: layout(pool),
        min_nodes: nodes.min,
        max_nodes: nodes.max,
        min_gpus: per_node * u64::from(nodes.min),
        max_gpus: per_node * u64::from(nodes.max),
        resources: resources(pool),
        classes: (pool.classes.iter())
            .map(|it| device_class(cluster, pool, it))
            .collect(),
        claim: claim_example(pool),
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

/// The allocatable amount on a node, formatted.
fn allocatable(capacity: Option<NodeCapacity>, format_amount: impl Fn(u64) -> String) -> String {
    match capacity {
        None => String::new(),
        Some(capacity) if capacity.span.is_some() => format_amount(capacity.allocatable),
        Some(capacity) if capacity.allocatable == capacity.total => {
            format_amount(capacity.allocatable)
        }
        Some(capacity) => format!("{}, estimated", format_amount(capacity.allocatable)),
    }
}

fn machine(cluster: &Checked<'_>, pool: &Pool) -> String {
    match (pool.machine.expect_resolved(), &pool.machine_name) {
        (MachineType::Catalog(_), _) | (MachineType::Cpu(_), Some(_)) => {
            pool.machine_types().join(" or ")
        }
        (MachineType::Host, Some(machine)) => machine.value.clone(),
        (MachineType::Host, None) if cluster.config.cloud.has_existing_cluster() => {
            "existing nodes".to_owned()
        }
        (MachineType::Cpu(_) | MachineType::Host, _) => "own hosts".to_owned(),
    }
}

fn gpus(pool: &Pool) -> String {
    let Some(gpus) = pool.gpus.expect_resolved() else {
        return String::new();
    };
    let suffix = match gpus.fraction {
        Some(fraction) if fraction.denominator > 0 => {
            format!(
                " ({}/{} of a GPU)",
                fraction.numerator, fraction.denominator
            )
        }
        Some(_) => " (part of a GPU)".to_owned(),
        None => String::new(),
    };
    format!("{} x {}{suffix}", gpus.per_node, gpus.model.key)
}

fn sharing(sharing: &Sharing, has_gpus: bool) -> String {
    match sharing {
        _ if !has_gpus => String::new(),
        Sharing::Exclusive => "exclusive".to_owned(),
        Sharing::TimeSlicing { replicas, .. } => {
            format!("time-slicing, {replicas} replicas per GPU")
        }
        Sharing::Mps { replicas, .. } => format!("MPS, {replicas} replicas per GPU"),
        Sharing::Mig { strategy, .. } => {
            format!("MIG, {}", strategy.as_str())
        }
    }
}

/// The MIG geometry, one line for each run of GPUs with the same one.
fn layout(pool: &Pool) -> Vec<String> {
    let (Sharing::Mig { gpus, .. }, Some(gpus_of_pool)) =
        (pool.sharing.expect_resolved(), pool.gpus.expect_resolved())
    else {
        return Vec::new();
    };
    let Some(mig) = gpus_of_pool.model.mig else {
        return Vec::new();
    };
    let runs = gpus.chunk_by(|a, b| a.placements == b.placements);
    let line = |run: &[gpuc_model::MigGpu]| {
        let (first, last) = (run[0].index, run[run.len() - 1].index);
        let gpu_range = match last - first {
            0 => format!("GPU {first}"),
            _ => format!("GPUs {first}-{last}"),
        };
        let drawing = match run[0].placements.as_slice() {
            [] => "full".to_owned(),
            placements => placement::diagram(placements, mig),
        };
        format!("{gpu_range}: {drawing}")
    };
    runs.map(line).collect()
}

fn resources(pool: &Pool) -> Vec<ResourceSummary> {
    let advertised = pool
        .advertised
        .expect_resolved()
        .iter()
        .chain(&pool.interconnect);
    let summary = |resource: &gpuc_model::AdvertisedResource| {
        let total = resource.total(pool.nodes.expect_resolved());
        ResourceSummary {
            name: resource.name.clone(),
            per_node: resource.per_node,
            min: *total.start(),
            max: *total.end(),
        }
    };
    advertised.map(summary).collect()
}

fn device_class(cluster: &Checked<'_>, pool: &Pool, class: &DeviceClass) -> DeviceClassSummary {
    let total = class.total(pool.nodes.expect_resolved());
    let bridged = cluster.bridges_extended_resources();
    let extended = class.implicit_resource().filter(|_| bridged);
    let device = match (class.device_kind, pool.sharing.expect_resolved()) {
        (DeviceKind::FullGpu, Sharing::Mps { replicas, .. }) => {
            format!("a GPU with MPS, 1/{replicas} of it for each client")
        }
        (DeviceKind::FullGpu, _) => "a GPU".to_owned(),
        (DeviceKind::MigDevice(profile), _) => format!("a MIG device {}", profile.name),
    };
    DeviceClassSummary {
        name: class.name.clone(),
        device,
        per_node: class.per_node,
        min: *total.start(),
        max: *total.end(),
        quota: class.quota_resource(),
        resource: class.extended_resource.clone().unwrap_or_default(),
        extended: extended.unwrap_or_default(),
    }
}

/// Example manifests that allocate a device of the pool's first DeviceClass.
fn claim_example(pool: &Pool) -> Vec<Node> {
    let Some(class) = pool.classes.first() else {
        return Vec::new();
    };
    let template = claims::resource_claim(&pool.name, None, pool, class, 1);
    let pod = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("{}-test", pool.name)},
        "spec": claims::claiming_pod(pool, &pool.name),
    });
    [template, pod].map(Node::from_json).into()
}

fn taint(taint: &PoolTaint) -> String {
    let effect = taint.effect.as_str();
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
        return gpuc_model::plan::ADVERTISED_BY_DRA;
    }
    match pool.plugin.value {
        DevicePlugin::Gpuc => gpuc_model::plan::ADVERTISED_BY_RUNTIME,
        DevicePlugin::Nvidia => gpuc_model::plan::ADVERTISED_BY_NVIDIA,
        DevicePlugin::Operator => gpuc_model::plan::ADVERTISED_BY_OPERATOR,
        DevicePlugin::Cloud => gpuc_model::plan::ADVERTISED_BY_CLOUD,
    }
}

/// The note on the autoscaler, if there is one.
fn autoscaler(cluster: &Checked<'_>) -> Option<&'static str> {
    match cluster.autoscaler.value {
        Autoscaler::None => None,
        Autoscaler::ClusterAutoscaler if cluster.cloud.autoscaler_values(cluster).is_some() => {
            Some(
                "The Cluster Autoscaler, which this tree installs, scales each pool between its minimum and maximum \
                 number of nodes.",
            )
        }
        Autoscaler::ClusterAutoscaler => Some(
            "The Cluster Autoscaler in the cluster scales each pool between its minimum and maximum number of nodes.",
        ),
        Autoscaler::Karpenter => Some(
            "Karpenter, which this tree installs, creates nodes for pending pods, up to a pool's maximum, and removes \
             empty ones. It does not manage pools with a fixed number of nodes.",
        ),
        Autoscaler::Managed => Some(
            "The cloud's autoscaler scales each pool between its minimum and maximum number of nodes.",
        ),
    }
}

/// The note on the GPU Operator, if it serves a pool.
fn operator(cluster: &Checked<'_>) -> Option<String> {
    let served: Vec<_> = cluster.operator_pools().map(|(pool, _)| pool).collect();
    if served.is_empty() {
        return None;
    }
    let excluded: Vec<_> = cluster
        .gpu_pools()
        .map(|(pool, _)| pool)
        .filter(|pool| Operands::for_pool(cluster.cloud, pool).is_none())
        .collect();
    let excluded = match pool_names(&excluded).as_str() {
        "" => String::new(),
        names => {
            format!(" The label nvidia.com/gpu.deploy.operands=false excludes {names}.")
        }
    };
    let partitioned: Vec<_> = cluster
        .operator_pools()
        .filter(|(_, operands)| operands.mig)
        .map(|(pool, _)| pool)
        .collect();
    let mig = match pool_names(&partitioned).as_str() {
        "" => String::new(),
        names => format!(" {}", mig_manager_note(names)),
    };
    Some(format!(
        "The NVIDIA GPU Operator serves {}. Node labels select the operands that run on a node. Before it changes a \
         node's driver, it evicts the pods that hold GPUs there.{mig}{excluded}",
        pool_names(&served)
    ))
}

/// The note on nodes whose GPUs the operator's MIG manager partitions. It removes only the operator's own pods from a
/// node, by their labels, including those of the plugin. It configures a node when it starts and when its label
/// changes.
///
/// Source: NVIDIA/mig-parted `pkg/mig/reconfigure`, read 2026-11-21; that it configures at its start: from memory.
fn mig_manager_note(pools: &str) -> String {
    format!(
        "Its MIG manager partitions the GPUs of {pools}. During that time a node advertises none. Before that, a new \
         node may advertise full GPUs as nvidia.com/gpu, and no taint repels pods. Pods that request MIG devices stay \
         pending. A pod that got a full GPU is not evicted and blocks the partitioning: the node's label \
         nvidia.com/mig.config.state then has the value failed instead of success. Drain such a node, and delete the \
         MIG manager's pod on it to retry."
    )
}

pub(super) fn pool_names(pools: &[&Pool]) -> String {
    let names: Vec<_> = pools.iter().map(|pool| pool.name.value.as_str()).collect();
    names.join(", ")
}

/// The note on the enforcement of NetworkPolicies for isolated teams.
fn isolation(cluster: &Checked<'_>) -> Option<String> {
    cluster.isolation_spans().next()?;
    Some(if cluster.config.cloud.creates_cluster() {
        "NetworkPolicies isolate teams; the scripts in cloud/ configure the cluster's network to enforce \
         them.".to_owned()
    } else {
        format!(
            "NetworkPolicies isolate teams only if the cluster's network enforces them: check for {}.",
            cluster.cloud.facts().policy_enforcement_check
        )
    })
}

/// The labels and taints that the owner of nodes sets, where no cloud creates the machines.
fn required_marks(cluster: &Checked<'_>, pool: &Pool) -> Option<String> {
    if cluster.cloud.facts().creates_machines {
        return None;
    }
    let labels = pool.selector.iter();
    let labels: Vec<_> = labels
        .map(|label| format!("{}={}", label.key, label.value))
        .collect();
    let taints = match super::expectations::required_taints(cluster, pool).as_slice() {
        [] => String::new(),
        [taint] => format!(" and the taint {taint}"),
        taints => format!(" and the taints {}", taints.join(", ")),
    };
    let noun = if labels.len() == 1 { "label" } else { "labels" };
    Some(format!(
        "Every node of {} must have the {noun} {}{taints}: set them where the node is created. cloud/verify.sh checks \
         them.",
        pool.name,
        labels.join(", ")
    ))
}

/// The notes about pools whose nodes another tool creates.
fn existing_pools(cluster: &Checked<'_>) -> Vec<String> {
    let pools = cluster.pools.iter().filter(|pool| pool.is_existing());
    let pools: Vec<_> = pools.collect();
    if pools.is_empty() {
        return Vec::new();
    }
    let owner = format!(
        "The nodes of {} are managed outside gpuc; no script here changes them. cloud/contract.json has what they must \
         be.",
        pool_names(&pools)
    );
    let marks = pools
        .iter()
        .filter_map(|pool| required_marks(cluster, pool));
    std::iter::once(owner).chain(marks).collect()
}

/// The notes to read before applying the tree.
fn notes(cluster: &Checked<'_>) -> Vec<String> {
    let by_cloud: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Cloud).collect();
    let mut notes = Vec::new();
    if cluster
        .pools
        .iter()
        .any(|pool| !pool.nodes.expect_resolved().is_fixed())
    {
        notes.extend(autoscaler(cluster).map(str::to_owned));
    }
    let runtime_pools: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Gpuc).collect();
    let mut measured = runtime_pools.iter();
    let measures = measured.all(|pool| super::monitoring::runtime_measures_gpus(cluster, pool));
    if !runtime_pools.is_empty() {
        notes.push(format!(
            "gpuc-runtime serves {}: it advertises the GPUs, labels the nodes{}. Do not run another device plugin{} \
             there.{}",
            pool_names(&runtime_pools),
            if measures { ", and monitors and measures the GPUs" } else { ", and monitors the health of the GPUs" },
            if measures {
                ", GPU feature discovery or GPU exporter"
            } else {
                " or GPU feature discovery"
            },
            match cluster.config.charts.node_feature_discovery {
                Some(_) => " Node Feature Discovery, enabled by `charts`, labels the other hardware features of nodes.",
                None => "",
            },
        ));
    }
    let tainted = runtime_pools.iter().copied();
    let tainted: Vec<_> = tainted
        .filter(|pool| pool.startup_taint.is_some())
        .collect();
    if !tainted.is_empty() {
        notes.push(format!(
            "New nodes of {} have the taint {STARTUP_TAINT}; gpuc-runtime removes it after it has partitioned their \
             GPUs. Pods must not tolerate it.",
            pool_names(&tainted)
        ));
    }
    let dra_pools: Vec<_> = cluster.dra_pools().collect();
    if !dra_pools.is_empty() {
        notes.push(format!(
            "The GPUs of {} are allocated through DRA: those nodes do not advertise nvidia.com/gpu. Containers share \
             a GPU by referencing the same ResourceClaim of their namespace. A DeviceClass only selects the GPU \
             model, so a pod must also select the pool's nodes.",
            pool_names(&dra_pools)
        ));
        notes.extend(super::claims::extended_resource_notes(cluster));
    }
    notes.extend(isolation(cluster));
    notes.extend(operator(cluster));
    notes.extend(driver_upgrades::notes(cluster));
    notes.extend(super::storage::notes(cluster));
    notes.extend(cluster.cloud.access_notes(cluster));
    notes.extend(cluster.cloud.node_image_notes(cluster));
    notes.extend(cluster.pools.iter().filter_map(|pool| {
        let period = pool.capacity_period()?;
        Some(format!(
            "Pool {} has nodes only from {} to {}: its machines are a capacity block. EKS deletes the nodes 40 minutes \
             before the block ends. An upgrade deletes all of its nodes before it creates new ones.",
            pool.name, period.start, period.scale_down
        ))
    }));
    if !by_cloud.is_empty() {
        notes.push(format!(
            "The cloud or the node's operating system advertises the GPUs of {}; this tree has no device plugin for \
             them, because two plugins on one node would both advertise the same GPUs.",
            pool_names(&by_cloud)
        ));
    }
    notes.extend(existing_pools(cluster));
    notes.extend(cluster.cloud.platform_notes(cluster));
    notes
}
