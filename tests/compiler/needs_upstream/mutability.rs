//! The change kinds of fields match the clouds: gpuc changes no immutable field in place, and replaces nothing for a
//! mutable field.

use std::collections::BTreeSet;

use gpuc_clouds::CLOUDS;
use gpuc_model::plan::Change;
use serde_json::Value;

use super::assert_none;
use crate::external_data::{self, FACTS};

/// A field in gpuc, and its row in the tables of facts.
struct FieldRow {
    cloud: &'static str,
    kind: &'static str,
    field: &'static str,
    fact: Fact,
}

enum Fact {
    /// A row of `fields`.
    Pool(&'static str),
    /// A part of a row of `fields`.
    Part(&'static str, &'static str),
    /// The tables of facts lack the field, or gpuc is stricter. The text is the reason.
    Own(&'static str),
}

use Fact::{Own, Part, Pool};

const fn row(cloud: &'static str, kind: &'static str, field: &'static str, fact: Fact) -> FieldRow {
    FieldRow {
        cloud,
        kind,
        field,
        fact,
    }
}

const NODE_GROUP: &str = "EKS node group";
const GKE_POOL: &str = "GKE node pool";
const AKS_POOL: &str = "AKS node pool";
const CAUTIOUS_NEW_POOL: &str =
    "the facts recommend a new pool if the cloud does not document the change";
const CLUSTER_FACTS: &str = "the facts have no row for it";

const AUTOSCALED: &str = "afterwards the autoscaler sets the number of nodes";

/// Every field of every kind of cloud resource.
#[rustfmt::skip] // One row a line.
const ROWS: &[FieldRow] = &[
    row("eks", "EKS add-on", "version", Own("aws eks update-addon --addon-version")),
    row("eks", "EKS network plugin", "network policies", Own("aws eks update-addon --configuration-values")),
    row("eks", "CloudFormation stack", "template", Own("CloudFormation changes a stack to its template")),
    row("eks", NODE_GROUP, "machine type", Pool("machine_type")),
    row("eks", NODE_GROUP, "alternative machine types", Pool("machine_type")),
    row("eks", NODE_GROUP, "IAM role of nodes", Own("UpdateNodegroupConfig has no nodeRole")),
    row("eks", NODE_GROUP, "node image", Pool("os_image_ami_family")),
    row("eks", NODE_GROUP, "zones or subnets", Pool("zones_locations")),
    row("eks", NODE_GROUP, "capacity", Pool("spot_priority")),
    row("eks", NODE_GROUP, "capacity reservation", Pool("capacity_reservation")),
    row("eks", NODE_GROUP, "disk size in GiB", Pool("disk_type_size")),
    row("eks", NODE_GROUP, "EFA", Pool("efa_or_fast_network")),
    row("eks", NODE_GROUP, "placement group", Pool("placement_policy")),
    row("eks", NODE_GROUP, "max pods per node", Pool("max_pods")),
    row("eks", NODE_GROUP, "Kubernetes version of the image", Own("an image that EKS does not make has no update of its own")),
    row("eks", NODE_GROUP, "labels", Pool("node_labels")),
    row("eks", NODE_GROUP, "taints", Pool("node_taints")),
    row("eks", NODE_GROUP, "tags", Pool("cloud_tags_labels")),
    row("eks", NODE_GROUP, "Cluster Autoscaler node template", Pool("cloud_tags_labels")),
    row("eks", NODE_GROUP, "local disks", Pool("local_ssd")),
    row("eks", NODE_GROUP, "upgrade settings", Pool("upgrade_settings")),
    row("eks", NODE_GROUP, "node repair", Own("\"nodeRepairConfig and warmPoolConfig too\", upgrade_settings")),
    row("eks", NODE_GROUP, "number of nodes", Pool("desired_nodes")),
    row("eks", NODE_GROUP, "initial number of nodes", Own(AUTOSCALED)),
    row("eks", NODE_GROUP, "number of nodes during the capacity block", Pool("desired_nodes")),
    row("eks", NODE_GROUP, "start of the capacity block", Own("put-scheduled-update-group-action replaces the action with its name")),
    row("eks", NODE_GROUP, "Kubernetes version", Pool("kubernetes_version_nodes")),
    row("eks", NODE_GROUP, "node image release", Pool("kubernetes_version_nodes")),

    row("eks", "EKS cluster", "VPC", Own("\"VPC cannot change\", cluster_fields")),
    row("eks", "EKS cluster", "VPC range", Own("as the VPC")),
    row("eks", "EKS cluster", "zones", Own("eksctl makes no subnets later")),
    row("eks", "EKS cluster", "API server endpoint", Own("update-cluster-config, cluster_fields")),
    row("eks", "EKS cluster", "authentication mode", Own("\"access mode\", cluster_fields; a cluster cannot return from API")),
    row("eks", "EKS cluster", "IAM role", Own("UpdateClusterConfig has no role")),
    row("eks", "EKS cluster", "range of Services", Own("UpdateClusterConfig has no serviceIpv4Cidr")),
    row("eks", "EKS cluster", "NAT gateways", Own("eksctl makes no gateways later")),
    row("eks", "EKS cluster", "key of Secrets", Own("a key cannot be changed, only added once")),
    row("eks", "EKS cluster", "logs of the control plane", Own("aws eks update-cluster-config --logging")),
    row("eks", "EKS cluster", "deletion protection", Own("UpdateClusterConfig has deletionProtection")),
    row("eks", "EKS cluster", "support of versions", Own("UpdateClusterConfig has upgradePolicy")),
    row("eks", "EKS access entry", "Kubernetes groups", Own("update-access-entry")),
    row("eks", "EKS access entry", "Kubernetes user", Own("update-access-entry")),
    row("eks", "EKS access entry", "tags", Own("tag-resource")),
    row("eks", "EKS access policies", "access policies", Own("associate-access-policy, disassociate-access-policy")),
    row("eks", "EKS cluster", "subnets", Own("update-cluster-config, cluster_fields")),
    row("eks", "EKS cluster", "security groups", Own("update-cluster-config, cluster_fields")),
    row("eks", "EKS cluster", "tags", Own("tag-resource")),
    row("eks", "EKS cluster", "Kubernetes version", Pool("kubernetes_version_control_plane")),

    row("gke", GKE_POOL, "machine type", Pool("machine_type")),
    row("gke", GKE_POOL, "GPUs", Own(CAUTIOUS_NEW_POOL)),
    row("gke", GKE_POOL, "GPU driver and sharing", Pool("gpu_driver_version")),
    row("gke", GKE_POOL, "local SSDs", Pool("local_ssd")),
    row("gke", GKE_POOL, "spot capacity", Pool("spot_priority")),
    row("gke", GKE_POOL, "flex-start capacity", Own(CAUTIOUS_NEW_POOL)),
    row("gke", GKE_POOL, "maximum run duration", Own(CAUTIOUS_NEW_POOL)),
    row("gke", GKE_POOL, "reservation", Pool("capacity_reservation")),
    row("gke", GKE_POOL, "placement", Pool("placement_policy")),
    row("gke", GKE_POOL, "networks of the GPU interfaces", Own("\"Additional node networks are create-only: replace\", efa_or_fast_network")),
    row("gke", GKE_POOL, "network profile of the GPU interfaces", Own("as the networks of the GPU interfaces")),
    row("gke", GKE_POOL, "huge pages", Own("node-pools update --system-config-from-file recreates nodes")),
    row("gke", GKE_POOL, "maximum pods per node", Pool("max_pods")),
    row("gke", GKE_POOL, "service account", Own("node-pools update has no --service-account")),
    row("gke", GKE_POOL, "node image", Pool("os_image_ami_family")),
    row("gke", GKE_POOL, "boot disk size", Pool("disk_type_size")),
    row("gke", GKE_POOL, "workload metadata", Own("\"recreates nodes\", cluster_fields")),
    row("gke", GKE_POOL, "resource labels", Part("cloud_tags_labels", "resource_labels")),
    row("gke", GKE_POOL, "autoscaling", Pool("min_max_nodes")),
    row("gke", GKE_POOL, "location policy", Pool("min_max_nodes")),
    row("gke", GKE_POOL, "node labels", Pool("node_labels")),
    row("gke", GKE_POOL, "taints", Pool("node_taints")),
    row("gke", GKE_POOL, "upgrade settings", Pool("upgrade_settings")),
    row("gke", GKE_POOL, "automatic upgrades and repairs", Own("--enable-autorepair and --enable-autoupgrade, general")),
    row("gke", GKE_POOL, "zones", Pool("zones_locations")),
    row("gke", GKE_POOL, "nodes per zone", Pool("desired_nodes")),
    row("gke", GKE_POOL, "initial nodes per zone", Own(AUTOSCALED)),

    row("gke", "GKE cluster", "network", Own(CLUSTER_FACTS)),
    row("gke", "GKE cluster", "subnetwork", Own(CLUSTER_FACTS)),
    row("gke", "GKE cluster", "range of pods", Own("clusters update has no --cluster-ipv4-cidr")),
    row("gke", "GKE cluster", "range of Services", Own("clusters update has no --services-ipv4-cidr")),
    row("gke", "GKE cluster", "logs of the control plane", Own("clusters update --logging")),
    row("gke", "GKE cluster", "key of Secrets", Own("clusters update --database-encryption-key")),
    row("gke", "GKE cluster", "network policies", Own("Dataplane V2 is chosen when a cluster is made")),
    row("gke", "GKE cluster", "Dataplane V2", Own("Dataplane V2 is chosen when a cluster is made")),
    row("gke", "GKE cluster", "multi-networking", Own("clusters update --enable-multi-networking")),
    row("gke", "GKE cluster", "private nodes", Own(CLUSTER_FACTS)),
    row("gke", "GKE cluster", "release channel", Own("in-place, cluster_fields")),
    row("gke", "GKE cluster", "Kubernetes version of the control plane", Pool("kubernetes_version_control_plane")),
    row("gke", "GKE cluster", "workload identity", Own("in-place, cluster_fields")),
    row("gke", "GKE cluster", "Filestore CSI driver", Own("clusters update --update-addons")),
    row("gke", "GKE cluster", "Cloud Storage FUSE CSI driver", Own("clusters update --update-addons")),
    row("gke", "GKE cluster", "maintenance exclusion", Own("clusters update --add-maintenance-exclusion-name")),
    row("gke", "GKE cluster", "maintenance window", Own("clusters update --maintenance-window-start")),
    row("gke", "GKE cluster", "resource labels", Own("clusters update --update-labels does not roll, cloud_tags_labels")),
    row("gke", "GKE cluster", "private endpoint", Own("clusters update --enable-private-endpoint")),
    row("gke", "GKE cluster", "DNS endpoint", Own("clusters update --enable-dns-access")),
    row("gke", "GKE cluster", "global access", Own("clusters update --enable-master-global-access")),
    row("gke", "GKE cluster", "authorized networks", Own("clusters update --master-authorized-networks")),
    row("gke", "GKE cluster", "security group", Own("clusters update --security-group")),
    row("gke", "GKE cluster", "shielded nodes", Own("clusters update --enable-shielded-nodes recreates nodes")),
    row("gke", "VPC network", "subnetworks of its own", Own(CLUSTER_FACTS)),
    row("gke", "VPC network", "MTU", Own(CLUSTER_FACTS)),
    row("gke", "VPC network", "network profile", Own(CLUSTER_FACTS)),
    row("gke", "VPC network", "description", Own(CLUSTER_FACTS)),
    row("gke", "VPC subnetwork", "network", Own(CLUSTER_FACTS)),
    row("gke", "VPC subnetwork", "range", Own(CLUSTER_FACTS)),
    row("gke", "VPC subnetwork", "description", Own(CLUSTER_FACTS)),
    row("gke", "VPC firewall rule", "network of the rule", Own(CLUSTER_FACTS)),
    row("gke", "VPC firewall rule", "allowed traffic", Own(CLUSTER_FACTS)),
    row("gke", "VPC firewall rule", "sources", Own(CLUSTER_FACTS)),
    row("gke", "VPC firewall rule", "description", Own(CLUSTER_FACTS)),
    row("gke", "Compute Engine workload policy", "topology", Own(CLUSTER_FACTS)),
    row("gke", "Compute Engine workload policy", "description", Own(CLUSTER_FACTS)),
    row("gke", "GKE cluster's first pool", "first pool", Own("gpuc's own")),

    row("aks", "AKS cluster", "identity of nodes", Own("az aks update --assign-kubelet-identity recreates nodes")),
    row("aks", "AKS cluster", "outbound type", Own("az aks update --outbound-type")),
    row("aks", "AKS cluster", "key of Secrets", Own("az aks update --azure-keyvault-kms-key-id")),
    row("aks", "AKS cluster", "disk encryption set", Own("az aks update has no --node-osdisk-diskencryptionset-id")),
    row("aks", "AKS cluster", "authorized IP ranges", Own("az aks update --api-server-authorized-ip-ranges")),
    row("aks", "AKS cluster", "private DNS zone", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "public DNS name", Own("az aks update --enable-public-fqdn, --disable-public-fqdn")),
    row("aks", "AKS cluster", "Entra ID", Own("az aks update --enable-aad")),
    row("aks", "AKS cluster", "Entra groups of administrators", Own("az aks update --aad-admin-group-object-ids")),
    row("aks", "AKS cluster", "Entra tenant", Own("az aks update --aad-tenant-id")),
    row("aks", "AKS cluster", "Azure RBAC", Own("az aks update --enable-azure-rbac, --disable-azure-rbac")),
    row("aks", "AKS cluster", "local accounts", Own("az aks update --enable-local-accounts, --disable-local-accounts")),

    row("aks", AKS_POOL, "VM size", Pool("machine_type")),
    row("aks", AKS_POOL, "priority", Pool("spot_priority")),
    row("aks", AKS_POOL, "eviction policy", Pool("spot_priority")),
    row("aks", AKS_POOL, "maximum spot price", Pool("spot_priority")),
    row("aks", AKS_POOL, "zones", Pool("zones_locations")),
    row("aks", AKS_POOL, "subnet", Pool("pool_name_or_subnet")),
    row("aks", AKS_POOL, "capacity reservation group", Pool("capacity_reservation")),
    row("aks", AKS_POOL, "proximity placement group", Pool("placement_policy")),
    row("aks", AKS_POOL, "disk size", Pool("disk_type_size")),
    row("aks", AKS_POOL, "disk type", Pool("disk_type_size")),
    row("aks", AKS_POOL, "maximum pods per node", Pool("max_pods")),
    row("aks", AKS_POOL, "GPU driver", Pool("gpu_driver_version")),
    row("aks", AKS_POOL, "GPU instance profile", Pool("mig_partition_size")),
    row("aks", AKS_POOL, "operating system", Pool("os_image_ami_family")),
    row("aks", AKS_POOL, "Kubernetes version", Pool("kubernetes_version_nodes")),
    row("aks", AKS_POOL, "mode", Own("az aks nodepool update --mode")),
    row("aks", AKS_POOL, "autoscaling", Pool("min_max_nodes")),
    row("aks", AKS_POOL, "nodes", Pool("desired_nodes")),
    row("aks", AKS_POOL, "initial nodes", Own(AUTOSCALED)),
    row("aks", AKS_POOL, "labels", Pool("node_labels")),
    row("aks", AKS_POOL, "taints", Pool("node_taints")),
    row("aks", AKS_POOL, "tags", Pool("cloud_tags_labels")),
    row("aks", AKS_POOL, "upgrade settings", Pool("upgrade_settings")),

    row("aks", "AKS cluster", "location", Own("replace, cluster_fields")),
    row("aks", "AKS cluster", "network", Own("\"reimages nodes\", cluster_fields: left to people")),
    row("aks", "AKS cluster", "range of pods", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "range of Services", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "network policies", Own("az aks update --network-policy reimages the nodes")),
    row("aks", "AKS cluster", "private API server", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "Kubernetes version", Pool("kubernetes_version_control_plane")),
    row("aks", "AKS cluster", "tier", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "OIDC issuer", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "workload identity", Own(CLUSTER_FACTS)),
    row("aks", "AKS cluster", "Blob Storage CSI driver", Own("az aks update --enable-blob-driver")),
    row("aks", "AKS cluster", "automatic upgrades", Own("az aks update --auto-upgrade-channel")),
    row("aks", "AKS cluster", "automatic node image upgrades", Own("az aks update --node-os-upgrade-channel")),
    row("aks", "AKS maintenance schedule", "maintenance window", Own("az aks maintenanceconfiguration update")),
    row("aks", "AKS cluster", "identity", Own("az aks update --assign-identity")),
    row("aks", "AKS cluster", "tags", Own("in-place, cluster_fields")),
];

/// The clouds' names in the tables of facts. On-premises hosts have no cloud resources.
const CLOUD_NAMES: &[(&str, &str)] = &[("aws", "eks"), ("gcp", "gke"), ("azure", "aks")];

/// Whether the facts allow a change kind. A new pool is always allowed if only new nodes get the new value, because
/// existing nodes would keep the old value.
fn is_allowed(word: &str, change: &Change) -> bool {
    matches!(
        (word, change),
        (
            "in-place",
            Change::InPlace | Change::MinorVersionSteps { .. }
        ) | ("rolls", Change::NodeRollout { .. })
            | ("resize", Change::Resize)
            | ("replace" | "new-nodes-only", Change::Replacement { .. })
    )
}

#[test]
#[ignore = "needs GPUC_FACTS"]
fn field_changes_match_the_clouds() {
    let facts: Value =
        serde_yaml::from_str(&external_data::text(FACTS, "mutability.yaml")).unwrap();
    let facts = facts["fields"].as_array().unwrap();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for cloud in CLOUDS {
        let key = cloud.facts().key;
        let Some((_, name)) = CLOUD_NAMES.iter().find(|names| names.0 == key) else {
            continue;
        };
        for kind in cloud.resources() {
            for field in kind.fields {
                let row = ROWS.iter().enumerate().find(|(_, row)| {
                    (row.cloud, row.kind, row.field) == (*name, kind.name, field.name)
                });
                let Some((index, row)) = row else {
                    wrong.push(format!("{}: {} has no row in ROWS", kind.name, field.name));
                    continue;
                };
                used.insert(index);
                let (fact, part) = match row.fact {
                    Pool(fact) => (fact, None),
                    Part(fact, part) => (fact, Some(part)),
                    Own(reason) => {
                        assert!(!reason.is_empty());
                        continue;
                    }
                };
                let facts = facts.iter().find(|it| it["field"] == fact);
                let facts = facts.unwrap_or_else(|| panic!("the facts have no {fact}"));
                let mutability = match part {
                    None => &facts[row.cloud]["change"],
                    Some(part) => &facts[row.cloud][part]["change"],
                };
                let mutability = mutability.as_str().unwrap_or("nothing");
                // Two fields have the same name: GKE changes the machine type in place only for machines without GPUs.
                let has_variant = kind
                    .fields
                    .iter()
                    .filter(|it| it.name == field.name)
                    .count()
                    > 1;
                let stricter = has_variant && matches!(field.change, Change::Replacement { .. });
                if !is_allowed(mutability, &field.change) && !stricter {
                    wrong.push(format!(
                        "{}: {} is {:?}, the facts say {mutability} ({fact})",
                        kind.name, field.name, field.change
                    ));
                }
            }
        }
    }
    for (index, row) in ROWS.iter().enumerate() {
        if !used.contains(&index) {
            wrong.push(format!("{}: unknown field {}", row.kind, row.field));
        }
    }
    assert_none(&wrong);
}

#[test]
fn missing_replacement_is_detected() {
    assert!(!is_allowed("replace", &Change::InPlace));
    assert!(!is_allowed("in-place", &Change::Replacement { reason: "" }));
    assert!(!is_allowed("rolls", &Change::InPlace));
    assert!(is_allowed("rolls", &Change::NodeRollout { reason: "" }));
}
