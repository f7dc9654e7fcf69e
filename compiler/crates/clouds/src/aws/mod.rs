//! Amazon EKS: clusters created by eksctl, and the EC2 machine types of their nodes.

mod access;
mod addons;
mod autoscaler;
mod bandwidth;
mod cluster;
mod commands;
mod control_plane;
pub mod cpu;
mod eksctl;
mod families;
mod karpenter;
mod labels;
mod local_disks;
pub mod machines;
mod mapping;
pub mod names;
mod node_group;
mod node_image;
mod os;
mod ownership;
mod pool;
mod provision;
mod regions;
mod reserved;
mod rules;
mod state;
mod storage;
mod support;
mod tags;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;

use gpuc_schema::config::{
    Allocation, Autoscaler, Aws, AwsCluster, CloudSection, DevicePlugin, DriverOwner, Empty,
    GpuCluster, LocalDisks, OsFamily, Rdma,
};
use gpuc_schema::{Span, Spanned};

use gpuc_model::check::{Checked, Rule};
use gpuc_model::cloud::machine::Machine;
use gpuc_model::cloud::{
    Catalog, Cloud, CloudFacts, CloudLabel, DiskRange, INSTANCE_TYPE, InterconnectSettings,
    KUBELET_DIR, MachineName, NameRule, NoRdma, NodeDisk, NodeFacts, NodeRepair, Provision,
    topology_labels,
};
use gpuc_model::fabric::{BandwidthFloor, Fabric};
use gpuc_model::plan::{AutoUpgrade, NodeProvisioner, Object, Provisioning, ResourceKind};
use gpuc_model::{
    AdvertisedResource, Cluster, DaemonSetRequests, Label, MachineType, Pool, PoolSpec, PoolTaint,
};
use gpuc_syntax::node::Origin;

/// Amazon EKS.
pub static AWS: Eks = Eks;

/// Amazon EKS.
#[derive(Debug)]
pub struct Eks;

static FACTS: CloudFacts = CloudFacts {
    key: "aws",
    name: "Amazon EKS",
    autoscalers: &[
        Autoscaler::None,
        Autoscaler::ClusterAutoscaler,
        Autoscaler::Karpenter,
    ],
    os: os::OS,
    creates_machines: true,
    kubelet_dir: KUBELET_DIR,
    support: &support::SUPPORT,
    regions: regions::REGIONS,
    region_of: |region| names::is_region_name(region).then_some(region),
    machine_term: "EC2 instance type",
    pool_name: NameRule {
        description: "letters, digits and -, starting with a letter and not ending with -",
        max: 63,
        is_valid: is_pool_name,
        source: "eksctl-io/eksctl:pkg/apis/eksctl.io/v1alpha5/validation.go (errInvalidName) @99984adb, 2026-08-21",
    },
    cluster_name: NameRule {
        description: "letters, digits and -, starting with a letter or digit",
        max: 100,
        is_valid: is_cluster_name,
        source: "EKS CreateCluster (botocore 1.43.11), without _, which CloudFormation does not allow in the names of eksctl's stacks",
    },
    taint_needs_value: None,
    startup_taints_source: Some(
        "cilium/cilium#16631: EKS node groups created with a taint that an agent removes",
    ),
    tolerates_requested_resources: false,
    has_compact_placement: false,
    has_alternative_machines: true,
    reserved_prefixes: &[
        ("eks.amazonaws.com/", "EKS sets labels with this prefix"),
        ("alpha.eksctl.io/", "eksctl sets labels with this prefix"),
        ("karpenter.sh/", "Karpenter sets labels with this prefix"),
        (
            "karpenter.k8s.aws/",
            "Karpenter sets labels with this prefix",
        ),
        INSTANCE_TYPE,
    ],
    deprecated_labels: &[],
    // Neuron's device plugin (from memory).
    other_accelerators: &[("aws.amazon.com/neuron", "AWS accelerators")],
    bare_labels: &[],
    label_prefixes: &[
        "eks.amazonaws.com/",
        "k8s.amazonaws.com/",
        "alpha.eksctl.io/",
        "karpenter.k8s.aws/",
    ],
    drivers: &[
        DriverOwner::Preinstalled,
        DriverOwner::Operator,
        DriverOwner::DaemonSet,
    ],
    has_driver_daemon_set: false,
    driver_keywords: &[],
    plugins: &[
        DevicePlugin::Gpuc,
        DevicePlugin::Nvidia,
        DevicePlugin::Operator,
        DevicePlugin::Cloud,
    ],
    // docs.aws.amazon.com/eks/latest/userguide/service-quotas.html: nodes per managed node group, a quota that AWS
    // increases on request; general knowledge.
    max_nodes: 450,
    capacity_kinds: &["onDemand", "spot", "reservation", "capacityBlock"],
    // eksctl tags the pools: `tags.rs`.
    has_managed_control_plane: true,
    announces_node_resources: true,
    storage: Some(&storage::STORAGE),
    node_repair: NodeRepair::IfEnabled,
    node_image: Ok(()),
    // Source: docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html, 2026-11-22.
    policy_enforcement_check: "`enableNetworkPolicy` in the `configurationValues` of `aws eks describe-addon --addon-name vpc-cni`, or another network plugin that enforces policies",
    reserved_resources: Some(reserved::reserved_resources),
};

static RESOURCES: &[&ResourceKind] = &[
    &cluster::CLUSTER,
    &access::ACCESS_ENTRY,
    &access::ACCESS_POLICIES,
    &pool::NODE_GROUP,
    &addons::ADDON,
    &addons::NETWORK_ADDON,
    &autoscaler::POD_ROLE,
    &karpenter::KARPENTER_NODES,
    &karpenter::STACK,
];

/// The resource of EFA interfaces.
const EFA_RESOURCE: &str = "vpc.amazonaws.com/efa";

/// The label by which the Cluster Autoscaler recognizes a GPU node before a device plugin advertises the GPUs.
const ACCELERATOR_LABEL: &str = "k8s.amazonaws.com/accelerator";

impl Catalog for Eks {
    fn machines(&self) -> Vec<&'static Machine> {
        machines::MACHINES.iter().map(|it| &it.machine).collect()
    }

    fn machine(&self, name: &str) -> Option<&'static Machine> {
        machines::find(name).map(|instance| &instance.machine)
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

impl NodeFacts for Eks {
    fn default_driver(&self, _plugin: DevicePlugin) -> DriverOwner {
        DriverOwner::Preinstalled
    }

    fn required_labels(&self, autoscaler: Spanned<Autoscaler>, pool: &PoolSpec) -> Vec<Label> {
        let Some(Some(gpus)) = pool.gpus.get() else {
            return Vec::new();
        };
        let is_scaled = autoscaler.value == Autoscaler::ClusterAutoscaler;
        // The autoscaler treats a node with the label as unready until it has `nvidia.com/gpu`, which it never has if
        // GPUs are allocated through DRA.
        let uses_dra = pool.allocation.value == Allocation::Dra;
        let is_set = pool
            .user_labels
            .keys()
            .any(|key| **key == ACCELERATOR_LABEL);
        if !is_scaled || pool.is_existing() || uses_dra || is_set {
            return Vec::new();
        }
        vec![Label {
            key: ACCELERATOR_LABEL.to_owned(),
            value: gpus.model.key.to_owned(),
            origin: Origin::fact(
                [autoscaler.span, gpus.span],
                "without this label, the Cluster Autoscaler treats a node as one without GPUs until a plugin advertises them",
                "kubernetes/autoscaler:cluster-autoscaler/cloudprovider/aws/README.md @55c37cd5, 2026-08-22",
            ),
        }]
    }

    fn automatic_taints(&self, _pool: &PoolSpec) -> Vec<PoolTaint> {
        Vec::new()
    }

    fn own_labels(&self, cluster: &Cluster, pool: &Pool) -> Vec<CloudLabel> {
        let zones = pool.settings.zones.iter().map(|zone| zone.value.clone());
        let region = section(&cluster.config).region.value.clone();
        let mut labels = topology_labels(zones, region, &[]);
        if !pool.is_existing() {
            labels.extend(labels::automatic_labels(cluster, pool));
        }
        labels
    }

    fn absent_label_prefixes(&self, cluster: &Cluster, pool: &Pool) -> &'static [&'static str] {
        if pool.is_existing() || karpenter::provisions(cluster, pool) {
            &[]
        } else {
            labels::KARPENTER_PREFIXES
        }
    }

    /// EC2 reports the network topology of machines with EFA.
    ///
    /// Source: the guide to task governance of SageMaker HyperPod on EKS names the labels, and AWS' cloud controller
    /// sets them on EKS's nodes (both read in excerpts, 2026-11-21).
    fn network_levels(&self, pool: &Pool) -> &'static [&'static str] {
        const LEVELS: &[&str] = &[
            "topology.k8s.aws/network-node-layer-1",
            "topology.k8s.aws/network-node-layer-2",
            "topology.k8s.aws/network-node-layer-3",
            "kubernetes.io/hostname",
        ];
        if self.interconnect_resources(pool).is_empty() {
            &[]
        } else {
            LEVELS
        }
    }

    fn interconnect_resources(&self, pool: &PoolSpec) -> Vec<AdvertisedResource> {
        let efa = pool.settings.network.efa.as_ref();
        let interfaces = match pool.machine.get() {
            Some(MachineType::Catalog(machine)) => {
                machines::find(machine.name).and_then(|it| it.efa)
            }
            _ => None,
        };
        let to_resource = |(efa, per_node): (&Spanned<Empty>, u32)| AdvertisedResource {
            name: EFA_RESOURCE.to_owned(),
            per_node,
            origin: Origin::rule([efa.span], "EFA uses all EFA interfaces of the machine"),
        };
        efa.zip(interfaces).map(to_resource).into_iter().collect()
    }

    /// The EFA driver reserves 5128 huge pages of 2 MiB on a node, of which AWS' own manifests request 5120 MiB.
    ///
    /// Source: <https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html>, read 2026-11-21.
    /// `FI_PROVIDER` is libfabric's: ofiwg/libfabric `man/fabric.7.md` (from memory).
    fn interconnect_settings(&self, _cluster: &Cluster, pool: &Pool) -> InterconnectSettings {
        let has_huge_pages = reserved::has_huge_pages(pool);
        InterconnectSettings {
            env: &[("FI_PROVIDER", "efa")],
            huge_pages_mib: if has_huge_pages { 5120 } else { 0 },
            ..InterconnectSettings::default()
        }
    }

    fn network_fabric(&self, pool: &Pool) -> Option<Fabric> {
        let has_efa = (pool.interconnect.iter()).any(|resource| resource.name == EFA_RESOURCE);
        has_efa.then_some(Fabric::Efa)
    }

    fn bandwidth_floors(&self) -> &'static [BandwidthFloor] {
        bandwidth::FLOORS
    }

    fn all_interconnect_resources(&self) -> &'static [&'static str] {
        &[EFA_RESOURCE]
    }

    /// The device plugin for EFA interfaces, which eksctl or a chart of this tree deploys.
    ///
    /// Source: aws/eks-charts `stable/aws-efa-k8s-device-plugin/values.yaml`, `resources`, read 2026-11-21; of eksctl's
    /// copy from memory.
    fn daemons(&self, config: &GpuCluster, pool: &Pool) -> Vec<DaemonSetRequests> {
        let settings = config.charts.aws_efa_k8s_device_plugin.as_ref();
        let has_defaults = settings.is_none_or(|settings| settings.values.is_empty());
        let is_known = pool.settings.network.efa.is_some() && has_defaults;
        let plugin = is_known.then(|| DaemonSetRequests::new("efa-device-plugin", (10, 20)));
        plugin.into_iter().collect()
    }

    fn rdma(&self, _pool: &Pool, _rdma: &Rdma) -> Result<(), NoRdma> {
        Err(NoRdma {
            reason: "EC2 has no NVIDIA network adapters; it supports RDMA through EFA".to_owned(),
            help: "write `efa: {}` instead of `rdma`",
        })
    }

    /// A volume cannot be smaller than the snapshot of its image, which is 20 GiB for Amazon Linux 2023
    /// (awslabs/amazon-eks-ami#1581; EKS's error in cilium/cilium#43051, 2025-12-01). The smallest gp3 volume is 1 GiB
    /// (the description of `volumeSize` in aws/karpenter-provider-aws@v1.14.1's CRD, whose pattern ends at 59000Gi),
    /// the largest 64 TiB (AWS, September 2025, from memory).
    fn boot_disk(&self, cluster: &Cluster, pool: &Pool) -> Option<DiskRange> {
        let (min, smaller) = match pool.os.value {
            OsFamily::AmazonLinux2023 => (20, "the node image takes 20 GiB"),
            _ => (1, "the minimum size of an EBS volume is 1 GiB"),
        };
        let (max, larger) = if karpenter::provisions(cluster, pool) {
            (59_000, "the maximum volume size of Karpenter is 59000 GiB")
        } else {
            (65_536, "the maximum size of an EBS volume is 65536 GiB")
        };
        Some(DiskRange {
            min_gib: min,
            min_reason: smaller,
            max_gib: max,
            max_reason: larger,
        })
    }

    fn node_disk(&self, _cluster: &Cluster, pool: &Pool) -> Option<NodeDisk> {
        if pool.is_existing() {
            return None;
        }
        match local_disks::scratch_span(pool) {
            Some(span) => local_disks::combined_disk(pool, span),
            None => Some(NodeDisk::boot(pool)),
        }
    }

    fn local_disks(&self, pool: &Pool) -> &'static [LocalDisks] {
        local_disks::supported_uses(pool)
    }
}

impl Provision for Eks {
    fn remote_name<'c>(&self, cluster: &'c Cluster) -> Option<&'c str> {
        Some(cluster_name(&cluster.config))
    }

    fn resources(&self) -> &'static [&'static ResourceKind] {
        RESOURCES
    }

    fn node_image_notes(&self, cluster: &Cluster) -> Vec<String> {
        node_image::notes(cluster)
    }

    fn access_notes(&self, cluster: &Cluster) -> Vec<String> {
        access::notes(cluster)
    }

    fn provision(&self, cluster: &Checked<'_>) -> Provisioning {
        provision::provision(*cluster)
    }

    fn auto_upgrades(&self, cluster: &Cluster, pool: &Pool) -> Vec<AutoUpgrade> {
        karpenter::auto_upgrade(cluster, pool).into_iter().collect()
    }

    fn node_provisioner(&self, cluster: &Cluster, pool: &Pool) -> Option<&'static NodeProvisioner> {
        karpenter::provisions(cluster, pool).then_some(&karpenter::PROVISIONER)
    }

    fn autoscaler_values(&self, cluster: &Checked<'_>) -> Option<(serde_json::Value, Vec<Span>)> {
        autoscaler::chart_values(cluster)
    }

    fn autoscaler_tags(&self, cluster: &Cluster, pool: &Pool) -> BTreeMap<String, String> {
        tags::autoscaler_tags(&node_group::NodeGroup::new(cluster, pool))
    }

    fn karpenter_values(&self, cluster: &Checked<'_>) -> Option<(serde_json::Value, Vec<Span>)> {
        karpenter::chart_values(cluster)
    }

    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        karpenter::objects(cluster)
    }
}

impl Cloud for Eks {
    fn facts(&self) -> &'static CloudFacts {
        &FACTS
    }

    fn for_section(&'static self, section: &CloudSection) -> Option<&'static dyn Cloud> {
        matches!(section, CloudSection::Aws(_)).then_some(self as &dyn Cloud)
    }

    fn rules(&self) -> &'static [&'static Rule] {
        rules::RULES
    }
}

/// The EKS section of the file.
fn section(config: &GpuCluster) -> &Aws {
    match &config.cloud.value {
        CloudSection::Aws(section) => section,
        _ => unreachable!("`Cloud::owns` chose this cloud for this section"),
    }
}

/// The cluster's name in EKS.
fn cluster_name(config: &GpuCluster) -> &Spanned<String> {
    let existing = match &section(config).cluster.value {
        AwsCluster::Existing(existing) => existing.name.as_ref(),
        AwsCluster::Create(_) => None,
    };
    existing.unwrap_or(&config.metadata.name)
}

fn is_pool_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && is_cluster_name(name)
}

fn is_cluster_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(plain) && name.ends_with(plain) && name.chars().all(|c| plain(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["train", "Train-2", "a"] {
            assert!(is_pool_name(name), "{name}");
        }
        for name in ["", "2train", "-a", "a-", "a_b", "a.b", "ä", "a*"] {
            assert!(!is_pool_name(name), "{name}");
        }
        assert!(is_cluster_name("2prod"));
        assert!(!is_cluster_name("ml_prod"));
    }

    #[test]
    fn machine_names() {
        let name = |name| AWS.machine_name(name);
        assert!(matches!(name("m7i.xlarge"), MachineName::Cpu(_)));
        assert!(matches!(
            name("trn2.48xlarge"),
            MachineName::OtherAccelerator(_)
        ));
        assert_eq!(name("x2gd.large"), MachineName::Plausible);
        assert_eq!(name("g6.xxlarge"), MachineName::Gpus);
        assert_eq!(
            name("p2.xlarge"),
            MachineName::UnsupportedGpus("NVIDIA Tesla K80")
        );
        assert_eq!(
            name("m7ii.xlarge"),
            MachineName::Mistyped(vec!["m7i.xlarge".to_owned()])
        );
        assert_eq!(name("n1-standard-4"), MachineName::Impossible);
    }
}
