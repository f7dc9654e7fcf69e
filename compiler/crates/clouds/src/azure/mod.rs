//! Azure Kubernetes Service, managed with `az`.

mod access;
mod address_ranges;
mod bandwidth;
mod blob;
mod cluster;
mod cluster_fields;
mod control_plane;
pub mod cpu;
mod families;
mod labels;
pub mod machines;
mod maintenance;
mod mig;
pub mod names;
mod os;
mod ownership;
mod pool;
mod regions;
mod reserved;
mod rules;
mod state;
mod storage;
mod support;
#[cfg(test)]
mod testing;

use gpuc_schema::Spanned;
use gpuc_schema::config::{
    Autoscaler, Azure as Section, AzureCluster, AzureCreate, Capacity, CloudSection, DevicePlugin,
    DriverOwner, GpuCluster, LocalDisks, Rdma, TaintEffect,
};

use gpuc_model::check::{Checked, Rule};
use gpuc_model::cloud::machine::Machine;
use gpuc_model::cloud::{
    ARCHITECTURE, Catalog, Cloud, CloudFacts, CloudLabel, DiskRange, HOSTNAME, INSTANCE_TYPE,
    KUBELET_DIR, MachineName, NameRule, NoRdma, NodeFacts, NodeRepair, OPERATING_SYSTEM, Provision,
    topology_labels,
};
use gpuc_model::fabric::BandwidthFloor;
use gpuc_model::plan::{Command, Provisioning, ResourceKind};
use gpuc_model::{Cluster, Label, MachineType, Pool, PoolSpec, PoolTaint, SetBy};
use gpuc_syntax::node::Origin;

/// Azure Kubernetes Service.
pub struct Azure;

/// Key of the taint, and of the label, that AKS sets on spot nodes.
const SPOT_KEY: &str = "kubernetes.azure.com/scalesetpriority";

/// Constant properties of AKS.
///
/// The device plugin always runs in the cluster. AKS has its own device plugin for managed GPU pools. These are a
/// preview for which azure-cli 2.91.0 has no flag without an extension, and which the cluster autoscaler cannot scale
/// (MicrosoftDocs/azure-aks-docs `articles/aks/aks-managed-gpu-nodes.md`, 2026-11-21). The `daemonSet` driver is not
/// supported either: `--gpu-driver none` also omits the NVIDIA container runtime, and only the GPU Operator installs
/// both.
static FACTS: CloudFacts = CloudFacts {
    key: "azure",
    name: "Azure Kubernetes Service",
    autoscalers: &[Autoscaler::Managed, Autoscaler::None],
    os: os::OS,
    creates_machines: true,
    kubelet_dir: KUBELET_DIR,
    support: &support::SUPPORT,
    regions: regions::REGIONS,
    region_of: |location| names::is_region_name(location).then_some(location),
    machine_term: "Azure VM size",
    pool_name: NameRule {
        description: "lower-case letters and digits, starting with a letter",
        max: 12,
        is_valid: |name| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && (name.bytes()).all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        },
        source: "MicrosoftDocs/azure-aks-docs articles/aks/create-node-pools.md@fb060abe",
    },
    cluster_name: NameRule {
        description: "letters, digits, - and _, starting and ending with a letter or digit",
        max: 63,
        is_valid: names::is_cluster_name,
        source: "learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules, 2026-11-21",
    },
    taint_needs_value: Some("azure-cli 2.91.0 accepts only key=value:Effect (acs/_validators.py)"),
    // AKS restores the taints of a pool (Azure/AKS#2934). For `nodeInitializationTaints`, which it sets only once,
    // azure-cli 2.91.0 has no flag.
    startup_taints_source: None,
    tolerates_requested_resources: false,
    has_compact_placement: false,
    has_alternative_machines: false,
    reserved_prefixes: &[
        (
            "kubernetes.azure.com/",
            "AKS reserves it for its own labels (MicrosoftDocs/azure-aks-docs articles/aks/use-labels.md)",
        ),
        HOSTNAME,
        ARCHITECTURE,
        OPERATING_SYSTEM,
        INSTANCE_TYPE,
        (
            "topology.kubernetes.io/",
            "AKS sets it to the location of the node",
        ),
    ],
    // MicrosoftDocs/azure-aks-docs@07fd2900 articles/aks/use-labels.md, 2026-11-22.
    deprecated_labels: &[
        ("agentpool", "kubernetes.azure.com/agentpool"),
        ("accelerator", "kubernetes.azure.com/accelerator"),
        ("storageprofile", "kubernetes.azure.com/storageprofile"),
        ("storagetier", "kubernetes.azure.com/storagetier"),
    ],
    other_accelerators: &[],
    // articles/aks/use-labels.md, the deprecated labels.
    bare_labels: &["agentpool"],
    label_prefixes: &["kubernetes.azure.com/"],
    drivers: &[DriverOwner::Preinstalled, DriverOwner::Operator],
    has_driver_daemon_set: false,
    driver_keywords: &[],
    plugins: &[
        DevicePlugin::Gpuc,
        DevicePlugin::Nvidia,
        DevicePlugin::Operator,
    ],
    max_nodes: 1000,
    capacity_kinds: &["onDemand", "spot", "reservation"],
    has_managed_control_plane: true,
    announces_node_resources: false,
    storage: Some(&storage::STORAGE),
    node_repair: NodeRepair::Always,
    node_image: Err("set `nodeImageChannel` and `maintenance` of the cluster"),
    // Source: learn.microsoft.com/azure/aks/use-network-policies, 2026-11-22.
    policy_enforcement_check: "`az aks show --query networkProfile.networkPolicy` with `cilium`, `calico` or `azure`",
    reserved_resources: Some(reserved::reserved_resources),
};

static RESOURCES: &[&ResourceKind] = &[
    &cluster::RESOURCE_GROUP,
    &cluster::CLUSTER,
    &pool::POOL,
    &maintenance::SCHEDULE,
];

impl Catalog for Azure {
    fn machines(&self) -> Vec<&'static Machine> {
        machines::MACHINES
            .iter()
            .map(|size| &size.machine)
            .collect()
    }

    fn machine(&self, name: &str) -> Option<&'static Machine> {
        machines::find(name).map(|size| &size.machine)
    }

    fn machine_name(&self, name: &str) -> MachineName {
        if let Some(gpus) = names::unsupported_gpus(name) {
            return MachineName::UnsupportedGpus(gpus);
        }
        if let Some(accelerator) = names::other_accelerator(name) {
            return MachineName::OtherAccelerator(accelerator);
        }
        if !names::is_machine_name(name) {
            return MachineName::Impossible;
        }
        if names::has_gpus(name) {
            return MachineName::Gpus;
        }
        families::classify(name)
    }
}

impl NodeFacts for Azure {
    fn os_release(&self, cluster: &Cluster, pool: &Pool) -> Option<&'static str> {
        let version = cluster.kubernetes.get()?.value;
        os::ubuntu_release(pool.os.value, version)
    }

    fn default_driver(&self, plugin: DevicePlugin) -> DriverOwner {
        match plugin {
            DevicePlugin::Operator => DriverOwner::Operator,
            _ => DriverOwner::Preinstalled,
        }
    }

    fn required_labels(&self, _autoscaler: Spanned<Autoscaler>, _: &PoolSpec) -> Vec<Label> {
        Vec::new()
    }

    fn automatic_taints(&self, pool: &PoolSpec) -> Vec<PoolTaint> {
        let capacity = &pool.settings.capacity;
        let Capacity::Spot(_) = capacity.value else {
            return Vec::new();
        };
        vec![PoolTaint {
            key: SPOT_KEY.to_owned(),
            value: "spot".to_owned(),
            effect: TaintEffect::NoSchedule,
            set_by: SetBy::Cloud,
            span: capacity.span,
            origin: Origin::fact(
                [capacity.span],
                "AKS taints the nodes of spot pools",
                "MicrosoftDocs/azure-aks-docs articles/aks/spot-node-pool.md, 2026-11-21",
            ),
        }]
    }

    /// The controller prefixes zones with their location: `eastus2-1`.
    ///
    /// Source: learn.microsoft.com/azure/aks/availability-zones, on verifying the distribution of nodes (from memory).
    fn own_labels(&self, cluster: &Cluster, pool: &Pool) -> Vec<CloudLabel> {
        let location = section(&cluster.config).location.to_ascii_lowercase();
        let zones = pool
            .settings
            .zones
            .iter()
            .map(|zone| format!("{location}-{}", zone.value));
        // Machines outside of zones have their fault domain, a digit, as the zone (from memory).
        let domains = ["0", "1", "2", "3", "4"];
        let mut labels = topology_labels(zones, location.clone(), &domains);
        if !pool.is_existing() {
            labels.extend(labels::automatic_labels(pool));
        }
        labels
    }

    fn bandwidth_floors(&self) -> &'static [BandwidthFloor] {
        bandwidth::FLOORS
    }

    /// Sizes without GPUs have `InfiniBand` if they belong to a series for high-performance computing, whose names
    /// begin with H (MicrosoftDocs/azure-compute-docs `articles/virtual-machines/overview-hb-hc.md`; general
    /// knowledge).
    fn rdma(&self, pool: &Pool, rdma: &Rdma) -> Result<(), NoRdma> {
        if matches!(rdma, Rdma::Roce(_)) {
            return Err(NoRdma {
                reason: "RDMA on Azure requires InfiniBand".to_owned(),
                help: "write `rdma: {infiniband: {}}`, or remove `rdma`",
            });
        }
        let (name, has_infiniband) = match pool.machine.get() {
            Some(MachineType::Catalog(machine)) => {
                let size = machines::find(machine.name);
                (machine.name, size.is_some_and(|size| size.infiniband))
            }
            Some(MachineType::Cpu(_)) => {
                let name = pool.machine_name.as_ref();
                let name = name.map_or("", |name| name.as_str());
                (name, name.starts_with("Standard_H"))
            }
            _ => return Ok(()),
        };
        let no_rdma = || NoRdma {
            reason: format!("`{name}` has no InfiniBand"),
            help: "remove `rdma`, or choose a size with InfiniBand, such as `Standard_ND96isr_H100_v5`",
        };
        has_infiniband.then_some(()).ok_or_else(no_rdma)
    }

    fn partitions_gpus(&self, pool: &PoolSpec) -> bool {
        !pool.is_existing() && mig::is_partitioned_by_aks(pool)
    }

    /// Source: azure-cli `azure/cli/command_modules/acs/_help.py` (`--node-osdisk-size`, at least 30), 2026-11-22;
    /// Azure/azure-rest-api-specs, Microsoft.ContainerService `ContainerServiceOSDisk` (maximum 2048), 2026-11-21.
    fn boot_disk(&self, _cluster: &Cluster, _pool: &Pool) -> Option<DiskRange> {
        Some(DiskRange {
            min_gib: 30,
            min_reason: "AKS does not support a smaller OS disk",
            max_gib: 2048,
            max_reason: "AKS does not support a larger OS disk",
        })
    }

    /// A rule checks whether a boot disk fits on the temporary disk of a size.
    fn local_disks(&self, pool: &Pool) -> &'static [LocalDisks] {
        if temporary_disk(pool).is_some() {
            &[LocalDisks::None, LocalDisks::Boot]
        } else {
            &[LocalDisks::None]
        }
    }
}

impl Provision for Azure {
    fn remote_name<'c>(&self, cluster: &'c Cluster) -> Option<&'c str> {
        Some(cluster_name(cluster))
    }

    fn access_notes(&self, cluster: &Cluster) -> Vec<String> {
        access::notes(cluster)
    }

    fn node_image_notes(&self, cluster: &Cluster) -> Vec<String> {
        cluster::node_image_note(cluster).into_iter().collect()
    }

    fn container<'c>(&self, cluster: &'c Cluster) -> Option<(&'static str, &'c str)> {
        let group = &section(&cluster.config).resource_group;
        Some(("resource group", &group.value))
    }

    fn resources(&self) -> &'static [&'static ResourceKind] {
        RESOURCES
    }

    fn provision(&self, cluster: &Checked<'_>) -> Provisioning {
        cluster::provision(cluster)
    }
}

impl Cloud for Azure {
    fn facts(&self) -> &'static CloudFacts {
        &FACTS
    }

    fn for_section(&'static self, section: &CloudSection) -> Option<&'static dyn Cloud> {
        matches!(section, CloudSection::Azure(_)).then_some(self as &dyn Cloud)
    }

    fn rules(&self) -> &'static [&'static Rule] {
        rules::RULES
    }
}

/// Temporary disk of a pool's VM size in GiB, if known.
fn temporary_disk(pool: &Pool) -> Option<u32> {
    match pool.machine.get()? {
        MachineType::Catalog(machine) => machines::find(machine.name)?.temp_disk_gib,
        _ => None,
    }
}

/// The `cloud.azure` section of the file.
fn section(config: &GpuCluster) -> &Section {
    match &config.cloud.value {
        CloudSection::Azure(section) => section,
        _ => unreachable!("a cloud handles only files with its own section"),
    }
}

/// Settings of a cluster that gpuc creates; `None` for an existing cluster.
fn create_section(cluster: &Cluster) -> Option<&AzureCreate> {
    match &section(&cluster.config).cluster.value {
        AzureCluster::Create(create) => Some(create),
        AzureCluster::Existing(_) => None,
    }
}

/// Name of the cluster in Azure.
fn cluster_name(cluster: &Cluster) -> &str {
    match &section(&cluster.config).cluster.value {
        AzureCluster::Existing(existing) => existing.name.as_ref().unwrap_or(&cluster.name),
        AzureCluster::Create(_) => &cluster.name,
    }
}

/// The pool that the cluster is created with: the first without GPUs. AKS requires one.
fn system_pool(cluster: &Cluster) -> Option<&Pool> {
    create_section(cluster)?;
    cluster.pools.iter().find(|pool| is_system_candidate(pool))
}

/// Whether a pool can be the system pool.
fn is_system_candidate(pool: &Pool) -> bool {
    let spot = matches!(pool.settings.capacity.value, Capacity::Spot(_));
    !pool.is_existing() && !spot && matches!(pool.gpus.get(), Some(None))
}

/// An `az` command for this cluster's resource group.
fn az_command(config: &GpuCluster, words: &[&str]) -> Command {
    let section = section(config);
    Command::new(["az"])
        .with_arguments(words.iter().copied())
        .with_arguments(["--subscription", section.subscription.as_str()])
        .with_arguments(["--resource-group", section.resource_group.as_str()])
}

#[cfg(test)]
mod tests {
    use gpuc_syntax::diag::Report;

    use super::testing::{cluster, with_pools};

    #[test]
    fn size_without_infiniband_is_named() {
        let pool = "- {name: gpu, machine: Standard_NC24ads_A100_v4, nodes: {count: 1}, network: {rdma: {infiniband: {}}}}";
        let cluster = cluster(&with_pools(pool), &mut Report::default());
        let pool = cluster.pools.last().expect("a pool");
        let rdma = pool.settings.network.rdma.as_ref().expect("RDMA");
        let no_rdma = cluster.cloud.rdma(pool, &rdma.value);
        let reason = no_rdma.expect_err("a size without InfiniBand").reason;
        assert_eq!(reason, "`Standard_NC24ads_A100_v4` has no InfiniBand");
    }
}
