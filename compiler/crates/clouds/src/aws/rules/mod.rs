//! The rules that apply only to EKS, one file each.

mod access_entry_invalid;
mod account_malformed;
mod alternative_machine_efa;
mod arn_malformed;
mod autoscaler_target_mismatch;
mod aws_id_malformed;
mod capacity_block_ended;
mod capacity_block_period;
mod capacity_block_unavailable;
mod compact_placement_unsupported;
mod control_plane_zones;
mod driver_daemonset_unsupported;
mod driver_installed_twice;
mod efa_driver_unverified;
mod efa_several_zones;
mod efa_unavailable;
mod eksctl_plugin_conflict;
mod existing_autoscaler_unused;
mod fractional_gpu_uncounted;
mod gpu_unrecognized_by_eksctl;
mod initial_nodes_unsupported;
mod karpenter_gpus_unsupported;
mod karpenter_image_unavailable;
mod karpenter_min_nodes_unsupported;
mod karpenter_overprovisioning;
mod karpenter_setting_unavailable;
mod karpenter_unschedulable;
mod key_too_long_for_eks;
mod label_prefix_reserved;
mod max_pods_above_addresses;
mod member_without_access_entry;
mod nat_gateways_unused;
mod node_image_malformed;
mod node_role_unused;
mod nodes_only_unused;
mod plugin_cannot_share;
mod plugin_not_in_image;
mod public_cidr_unreachable;
mod public_cidrs_exclude_nodes;
mod public_cidrs_unused;
mod region_malformed;
mod reservation_several_zones;
mod security_group_missing;
mod service_range;
mod spot_terms_unavailable;
mod stack_name_too_long;
mod tag_malformed;
mod too_many_tags;
mod upgrade_unavailable;
mod vpc_missing;
mod vpc_range_malformed;
mod zone_outside_region;
mod zone_without_subnet;
mod zones_and_subnets;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_schema::config::{AwsCluster, AwsCreate, AwsExistingVpc, AwsVpc, GpuCluster};
use gpuc_schema::{Span, Spanned};

use super::machines::{self, Ec2Instance};
use super::{cluster_name, karpenter, names, node_group, section, tags};

/// The rules, by id.
pub(super) static RULES: &[&Rule] = &[
    &account_malformed::RULE,
    &region_malformed::RULE,
    &zone_outside_region::RULE,
    &zones_and_subnets::RULE,
    &zone_without_subnet::RULE,
    &control_plane_zones::RULE,
    &vpc_range_malformed::RULE,
    &aws_id_malformed::RULE,
    &security_group_missing::RULE,
    &gpu_unrecognized_by_eksctl::RULE,
    &fractional_gpu_uncounted::RULE,
    &driver_installed_twice::RULE,
    &plugin_not_in_image::RULE,
    &eksctl_plugin_conflict::RULE,
    &plugin_cannot_share::RULE,
    &efa_several_zones::RULE,
    &efa_unavailable::RULE,
    &compact_placement_unsupported::RULE,
    &capacity_block_unavailable::RULE,
    &reservation_several_zones::RULE,
    &spot_terms_unavailable::RULE,
    &label_prefix_reserved::RULE,
    &key_too_long_for_eks::RULE,
    &upgrade_unavailable::RULE,
    &max_pods_above_addresses::RULE,
    &tag_malformed::RULE,
    &too_many_tags::RULE,
    &stack_name_too_long::RULE,
    &driver_daemonset_unsupported::RULE,
    &existing_autoscaler_unused::RULE,
    &karpenter_min_nodes_unsupported::RULE,
    &karpenter_unschedulable::RULE,
    &karpenter_image_unavailable::RULE,
    &karpenter_setting_unavailable::RULE,
    &karpenter_gpus_unsupported::RULE,
    &karpenter_overprovisioning::RULE,
    &autoscaler_target_mismatch::RULE,
    &vpc_missing::RULE,
    &capacity_block_period::RULE,
    &capacity_block_ended::RULE,
    &node_image_malformed::RULE,
    &efa_driver_unverified::RULE,
    &nodes_only_unused::RULE,
    &public_cidr_unreachable::RULE,
    &public_cidrs_unused::RULE,
    &public_cidrs_exclude_nodes::RULE,
    &access_entry_invalid::RULE,
    &member_without_access_entry::RULE,
    &initial_nodes_unsupported::RULE,
    &alternative_machine_efa::RULE,
    &arn_malformed::RULE,
    &service_range::RULE,
    &nat_gateways_unused::RULE,
    &node_role_unused::RULE,
];

/// The pools that gpuc creates.
fn created_pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    cluster.pools.iter().filter(|pool| !pool.is_existing())
}

/// The tags that gpuc adds to a cluster that it creates.
fn cluster_tags(config: &GpuCluster) -> tags::Tags {
    match &section(config).cluster.value {
        AwsCluster::Create(create) => super::cluster::cluster_record(create, cluster_name(config)),
        AwsCluster::Existing(_) => tags::Tags::new(),
    }
}

/// The settings of a cluster that gpuc creates.
fn created_cluster(cluster: &Cluster) -> Option<&AwsCreate> {
    match &section(&cluster.config).cluster.value {
        AwsCluster::Create(create) => Some(create),
        AwsCluster::Existing(_) => None,
    }
}

/// The catalog entry of a pool's machine type, if it has GPUs.
fn catalog_instance(pool: &Pool) -> Option<&'static Ec2Instance> {
    match pool.machine.get()? {
        MachineType::Catalog(machine) => machines::find(machine.name),
        MachineType::Cpu(_) | MachineType::Host => None,
    }
}

/// The location where a pool's machine type is set.
fn machine_span(pool: &Pool) -> Span {
    let machine = pool.machine_name.as_ref().map(|machine| machine.span);
    let gpus = pool.gpus.get().and_then(|gpus| gpus.as_ref());
    let chosen = gpus.map(|gpus| gpus.span);
    machine.or(chosen).unwrap_or(pool.name.span)
}

/// A description of the zones of a pool, unless it is in exactly one.
fn describe_unless_one_zone(pool: &Pool) -> Option<String> {
    match (pool.settings.zones.len(), pool.settings.subnets.len()) {
        (0, 0) => Some("every zone of the cluster".to_owned()),
        (1, 0) | (0, 1) => None,
        (zones, 0) => Some(format!("{zones} zones")),
        (_, subnets) => Some(format!("{subnets} subnets")),
    }
}

/// The existing VPC, if the file describes one.
fn cluster_vpc(cluster: &Cluster) -> Option<&AwsExistingVpc> {
    match &section(&cluster.config).cluster.value {
        AwsCluster::Existing(existing) => existing.vpc.as_ref().map(|vpc| &vpc.value),
        AwsCluster::Create(create) => match &create.vpc.as_ref()?.value {
            AwsVpc::Existing(vpc) => Some(vpc),
            AwsVpc::Cidr(_) => None,
        },
    }
}

/// The zones in the cluster section of the file.
fn cluster_zones(cluster: &Cluster) -> impl Iterator<Item = &Spanned<String>> {
    let vpc = cluster_vpc(cluster);
    let subnets = vpc.map(|vpc| vpc.private_subnets.iter().chain(&vpc.public_subnets));
    let subnet_zones = subnets.into_iter().flatten().map(|subnet| &subnet.zone);
    subnet_zones.chain(control_plane_zones(cluster))
}

/// The zones where the cluster has subnets for nodes, if the file lists them.
fn node_zones(cluster: &Cluster) -> impl Iterator<Item = &Spanned<String>> {
    let vpc = cluster_vpc(cluster);
    let subnets = vpc.map(|vpc| &vpc.private_subnets).into_iter().flatten();
    let subnet_zones = subnets.map(|subnet| &subnet.zone);
    subnet_zones.chain(control_plane_zones(cluster))
}

fn control_plane_zones(cluster: &Cluster) -> &[Spanned<String>] {
    match &section(&cluster.config).cluster.value {
        AwsCluster::Create(create) => &create.zones,
        AwsCluster::Existing(_) => &[],
    }
}
