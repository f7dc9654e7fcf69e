//! Google Kubernetes Engine, Standard mode: its properties, resources and rules.

mod accelerator;
mod access;
mod addons;
mod admission;
pub mod attachable_gpus;
mod bandwidth;
mod cluster;
mod cluster_fields;
mod control_plane;
pub mod cpu;
mod driver_installer;
mod families;
mod flex_start;
mod gpudirect;
mod labels;
mod local_ssds;
mod location;
pub mod machines;
mod maintenance;
pub mod names;
mod nodes;
mod os;
mod ownership;
pub mod partitions;
mod pool;
mod regions;
mod reserved;
mod rules;
mod setting;
mod state;
mod storage;
mod support;
mod system_config;
mod taints;
#[cfg(test)]
mod testing;
mod upgrades;
mod workload_policy;
pub mod zones;

use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, DriverOwner, Gcp, GcpCluster, GcpCreate, GpuCluster,
    LocalDisks, Rdma,
};
use gpuc_schema::gpu::GpuModel;
use gpuc_schema::{Span, Spanned};

use gpuc_model::check::{Checked, Rule};
use gpuc_model::cloud::machine::Machine;
use gpuc_model::cloud::storage::VolumeType;
use gpuc_model::cloud::{
    Catalog, Cloud, CloudFacts, CloudLabel, DiskRange, INSTANCE_TYPE, InterconnectSettings,
    KUBELET_DIR, MachineName, NameRule, NoRdma, NodeDisk, NodeFacts, NodeRepair, Provision,
    ProvisioningClass, topology_labels,
};
use gpuc_model::fabric::{BandwidthFloor, Fabric};
use gpuc_model::plan::{AutoUpgrade, Object, Provisioning, ResourceKind};
use gpuc_model::{Cluster, DaemonSetRequests, Label, MachineType, Pool, PoolSpec, PoolTaint};
use gpuc_syntax::node::Origin;

/// Google Kubernetes Engine.
#[derive(Debug)]
pub struct Gke;

/// Label that disables GKE's device plugin on a node. It must be set when the node is created.
const NO_DEFAULT_PLUGIN: &str = "gke-no-default-nvidia-gpu-device-plugin";

/// The pool that GKE creates with a cluster.
const DEFAULT_POOL: &str = "default-pool";

static FACTS: CloudFacts = CloudFacts {
    key: "gcp",
    name: "Google Kubernetes Engine",
    autoscalers: &[Autoscaler::Managed, Autoscaler::None],
    os: os::OS,
    creates_machines: true,
    kubelet_dir: KUBELET_DIR,
    support: &support::SUPPORT,
    regions: regions::REGIONS,
    region_of: |location| {
        let region = names::region_of_zone(location).unwrap_or(location);
        names::is_region_name(region).then_some(region)
    },
    machine_term: "Compute Engine machine type",
    pool_name: NAME_RULE,
    cluster_name: NAME_RULE,
    taint_needs_value: Some(
        "gcloud writes a taint as key=value:Effect (Google Cloud SDK 528.0.0, --node-taints)",
    ),
    // A kubelet does not start with a label of these prefixes, except for a few that it is allowed to set.
    startup_taints_source: Some(
        "cilium/cilium#16631: GKE node pools with a taint that an agent removes; \
         kubernetes/cloud-provider-gcp#322 and #404: GKE does not restore it",
    ),
    // cloud.google.com/kubernetes-engine/docs/how-to/gpus, on the taint of GPU nodes (as quoted by kserve
    // docs/samples/accelerators, read 2026-11-21).
    tolerates_requested_resources: true,
    has_compact_placement: true,
    has_alternative_machines: false,
    reserved_prefixes: &[
        (
            "kubernetes.io/",
            "kubelets must not set labels with this prefix",
        ),
        ("k8s.io/", "kubelets must not set labels with this prefix"),
        INSTANCE_TYPE,
    ],
    deprecated_labels: &[],
    // cloud.google.com/kubernetes-engine/docs/how-to/tpus (from memory).
    other_accelerators: &[("google.com/tpu", "Google's TPUs")],
    bare_labels: &[],
    label_prefixes: &["cloud.google.com/"],
    drivers: &[
        DriverOwner::DaemonSet,
        DriverOwner::Preinstalled,
        DriverOwner::Operator,
    ],
    has_driver_daemon_set: true,
    driver_keywords: &["default", "latest"],
    plugins: &[
        DevicePlugin::Gpuc,
        DevicePlugin::Nvidia,
        DevicePlugin::Operator,
        DevicePlugin::Cloud,
    ],
    // The limit of a cluster. The limit of a pool depends on its zones.
    max_nodes: 15_000,
    capacity_kinds: &["onDemand", "spot", "reservation", "flexStart"],
    has_managed_control_plane: true,
    announces_node_resources: false,
    storage: Some(&storage::STORAGE),
    node_repair: NodeRepair::Always,
    node_image: Err(
        "GKE selects the release; `releaseChannel`, `maintenance` and `maintenanceExclusion` of the cluster limit its upgrades",
    ),
    // Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/dataplane-v2, 2026-11-22.
    policy_enforcement_check: "`gcloud container clusters describe` with `datapathProvider: ADVANCED_DATAPATH`, or `networkPolicy` with `enabled: true`",
    reserved_resources: Some(reserved::reserved_resources),
};

static RESOURCES: &[&ResourceKind] = &[
    &cluster::CLUSTER,
    &gpudirect::NETWORK,
    &gpudirect::SUBNETWORK,
    &gpudirect::FIREWALL_RULE,
    &workload_policy::POLICY,
    &pool::POOL,
    &cluster::DEFAULT_POOL_REMOVAL,
];

const NAME_RULE: NameRule = NameRule {
    description: "lower-case letters, digits and -, starting with a letter and not ending with -",
    max: 40,
    is_valid: |name| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && !name.ends_with('-')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    },
    source: "Azure/telescope#989 and THORChain cluster-launcher!67; GKE validates the name, gcloud does not",
};

impl Catalog for Gke {
    fn machines(&self) -> Vec<&'static Machine> {
        machines::MACHINES.iter().map(|row| &row.machine).collect()
    }

    fn machine(&self, name: &str) -> Option<&'static Machine> {
        machines::find(name).map(|row| &row.machine)
    }

    fn machine_name(&self, name: &str) -> MachineName {
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

    fn attach(
        &self,
        machine: &str,
        model: &'static GpuModel,
        count: u32,
    ) -> Option<Result<(), String>> {
        Some(accelerator::check_attachment(machine, model, count))
    }

    fn machine_for_attachment(&self, model: &'static GpuModel, count: u32) -> Option<&'static str> {
        let mut standard = attachable_gpus::N1_MACHINES
            .iter()
            .filter(|machine| machine.vcpus >= 4 && machine.name.starts_with("n1-standard-"));
        standard
            .find(|machine| accelerator::check_attachment(machine.name, model, count).is_ok())
            .map(|machine| machine.name)
    }

    fn attachable_models(&self) -> Vec<&'static GpuModel> {
        (attachable_gpus::ATTACHABLE.iter())
            .map(|attachable| attachable.model)
            .collect()
    }
}

impl NodeFacts for Gke {
    fn default_driver(&self, plugin: DevicePlugin) -> DriverOwner {
        match plugin {
            DevicePlugin::Cloud => DriverOwner::Preinstalled,
            DevicePlugin::Gpuc | DevicePlugin::Nvidia | DevicePlugin::Operator => {
                DriverOwner::DaemonSet
            }
        }
    }

    fn driver_version(&self, pool: &Pool) -> Option<String> {
        (pool.driver.value != DriverOwner::Operator).then(|| "default".to_owned())
    }

    fn required_labels(&self, _autoscaler: Spanned<Autoscaler>, pool: &PoolSpec) -> Vec<Label> {
        if pool.is_existing() {
            return Vec::new();
        }
        let mut labels = gpudirect::required_labels(pool);
        if pool.has_gpus() && pool.plugin.value != DevicePlugin::Cloud {
            labels.push(Label {
                key: NO_DEFAULT_PLUGIN.to_owned(),
                value: "true".to_owned(),
                origin: Origin::fact(
                    [pool.plugin.span, pool.allocation.span],
                    "GKE runs its own device plugin on nodes without this label",
                    "NVIDIA/k8s-dra-driver-gpu@22407113 demo/clusters/gke/create-cluster.sh",
                ),
            });
        }
        labels.retain(|label| !pool.user_labels.keys().any(|key| **key == *label.key));
        labels
    }

    fn automatic_taints(&self, pool: &PoolSpec) -> Vec<PoolTaint> {
        taints::automatic_taints(pool)
    }

    fn own_labels(&self, cluster: &Cluster, pool: &Pool) -> Vec<CloudLabel> {
        let gcp = section(&cluster.config);
        let zones = location::pool_zones(gcp, pool)
            .into_iter()
            .map(str::to_owned);
        let region = names::region_of_zone(&gcp.location).unwrap_or(&gcp.location);
        let mut labels = topology_labels(zones, region.to_owned(), &[]);
        if !pool.is_existing() {
            labels.extend(labels::automatic_labels(pool));
        }
        labels
    }

    fn provisioning_class(&self, pool: &PoolSpec) -> Option<ProvisioningClass> {
        flex_start::provisioning_class(pool)
    }

    /// Nodes of machine types with GPUDirect have labels for their topology.
    ///
    /// Source: <https://docs.cloud.google.com/ai-hypercomputer/docs/nccl/test-gke-custom-a3-mega-high>, its Topology
    /// for Kueue, 2026-11-21.
    fn network_levels(&self, pool: &Pool) -> &'static [&'static str] {
        const LEVELS: &[&str] = &[
            "cloud.google.com/gce-topology-block",
            "cloud.google.com/gce-topology-subblock",
            "cloud.google.com/gce-topology-host",
            "kubernetes.io/hostname",
        ];
        let has_gpudirect = match pool.machine.get() {
            Some(MachineType::Catalog(machine)) => {
                machines::find(machine.name).is_some_and(|row| row.gpudirect.is_some())
            }
            _ => false,
        };
        if has_gpudirect { LEVELS } else { &[] }
    }

    fn interconnect_settings(&self, cluster: &Cluster, pool: &Pool) -> InterconnectSettings {
        gpudirect::pod_settings(cluster, pool)
    }

    fn daemons(&self, _config: &GpuCluster, pool: &Pool) -> Vec<DaemonSetRequests> {
        let installer = driver_installer::is_used(pool)
            .then(|| DaemonSetRequests::new("nvidia-driver-installer", driver_installer::REQUESTS));
        installer
            .into_iter()
            .chain(gpudirect::pool_daemons(pool))
            .collect()
    }

    fn network_fabric(&self, pool: &Pool) -> Option<Fabric> {
        pool.settings.network.gpudirect.as_ref()?;
        gpudirect::pool_technology(pool)
            .ok()
            .map(gpudirect::Technology::fabric)
    }

    fn bandwidth_floors(&self) -> &'static [BandwidthFloor] {
        bandwidth::FLOORS
    }

    fn rdma(&self, _pool: &Pool, _rdma: &Rdma) -> Result<(), NoRdma> {
        Err(NoRdma {
            reason: "GKE manages the network of its GPU machines itself, with its own plugins"
                .to_owned(),
            help: "remove `rdma`, and write `gpudirect` for machine types with networks for their GPUs",
        })
    }

    fn gpudirect(&self, pool: &Pool) -> Option<Result<(), NoRdma>> {
        Some(gpudirect::pool_technology(pool).map(|_| ()))
    }

    /// Source: gcloud 528 `surface/container/node_pools/create.py` (`--disk-size`, at least 10GB); 64 TiB of a
    /// persistent disk: cloud.google.com/compute/docs/disks (from memory).
    fn boot_disk(&self, _cluster: &Cluster, _pool: &Pool) -> Option<DiskRange> {
        Some(DiskRange {
            min_gib: 10,
            min_reason: "GKE does not support a smaller boot disk",
            max_gib: 65_536,
            max_reason: "Compute Engine does not support a larger disk",
        })
    }

    fn node_disk(&self, _cluster: &Cluster, pool: &Pool) -> Option<NodeDisk> {
        (!pool.is_existing()).then(|| local_ssds::node_disk(pool))?
    }

    fn local_disks(&self, pool: &Pool) -> &'static [LocalDisks] {
        local_ssds::supported_uses(pool)
    }
}

impl Provision for Gke {
    fn remote_name<'c>(&self, cluster: &'c Cluster) -> Option<&'c str> {
        Some(location::cluster_target(cluster).cluster)
    }

    fn access_notes(&self, cluster: &Cluster) -> Vec<String> {
        access::notes(cluster)
    }

    fn node_image_notes(&self, cluster: &Cluster) -> Vec<String> {
        maintenance::node_image_notes(cluster)
    }

    fn resources(&self) -> &'static [&'static ResourceKind] {
        RESOURCES
    }

    fn provision(&self, cluster: &Checked<'_>) -> Provisioning {
        cluster::provision(*cluster)
    }

    /// GKE runs this autoscaler.
    fn keeps_above_maximum(&self) -> Option<&'static str> {
        Some(
            "kubernetes/autoscaler cluster-autoscaler/FAQ.md, which says about a cluster above the maximum that the \
             sizes of node groups are not enforced and that only unneeded nodes are removed, read 2026-11-22",
        )
    }

    fn auto_upgrades(&self, cluster: &Cluster, pool: &Pool) -> Vec<AutoUpgrade> {
        upgrades::auto_upgrades(cluster, pool)
    }

    fn volume_parameters(
        &self,
        cluster: &Checked<'_>,
        volumes: &VolumeType,
    ) -> Vec<(&'static str, String, Span)> {
        storage::volume_parameters(&cluster.config, volumes)
    }

    /// The configuration file of containerd is not at the path that containerd reports to the toolkit
    /// (NVIDIA/gpu-operator#1679; cloud-native-docs, gpu-operator/google-gke.rst, read 2026-11-21).
    fn operator_toolkit(&self, _: &GpuCluster) -> &'static [(&'static str, &'static str)] {
        &[("RUNTIME_CONFIG_SOURCE", "file")]
    }

    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        let mut objects = driver_installer::objects(*cluster);
        objects.extend(admission::objects(*cluster));
        objects.extend(gpudirect::objects(*cluster));
        objects
    }
}

impl Cloud for Gke {
    fn facts(&self) -> &'static CloudFacts {
        &FACTS
    }

    fn for_section(&'static self, section: &CloudSection) -> Option<&'static dyn Cloud> {
        matches!(section, CloudSection::Gcp(_)).then_some(self as &dyn Cloud)
    }

    fn rules(&self) -> &'static [&'static Rule] {
        rules::RULES
    }
}

/// The `cloud.gcp` section of the file.
fn section(config: &GpuCluster) -> &Gcp {
    match &config.cloud.value {
        CloudSection::Gcp(gcp) => gcp,
        _ => unreachable!("a cloud handles only clusters with its own section"),
    }
}

/// Settings of a cluster that gpuc creates; `None` for an existing cluster.
fn create_section(config: &GpuCluster) -> Option<&GcpCreate> {
    match &section(config).cluster.value {
        GcpCluster::Create(create) => Some(create),
        GcpCluster::Existing(_) => None,
    }
}
