//! Rules specific to GKE, one file each.

mod accelerator_zone;
mod bucket_identity;
mod count_zones;
mod default_pool_name;
mod dra_mps;
mod driver_owner;
mod driver_version;
mod fraction;
mod gpudirect_interfaces;
mod gpudirect_nodes;
mod gpudirect_part;
mod gpudirect_unused;
mod location;
mod maintenance_short;
mod max_pods;
mod not_here;
mod partition;
mod plugin_label;
mod project_id;
mod resource_label;
mod resource_name;
mod shares_renamed;
mod system_pool_missing;
mod taint_automatic;
mod taint_key_twice;
mod upgrade_incomplete;
mod zone_elsewhere;

use gpuc_model::check::Rule;

/// The rules, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &project_id::RULE,
    &location::RULE,
    &zone_elsewhere::RULE,
    &accelerator_zone::RULE,
    &count_zones::RULE,
    &driver_owner::RULE,
    &driver_version::RULE,
    &taint_automatic::RULE,
    &taint_key_twice::RULE,
    &plugin_label::RULE,
    &partition::RULE,
    &shares_renamed::RULE,
    &system_pool_missing::RULE,
    &default_pool_name::RULE,
    &max_pods::RULE,
    &upgrade_incomplete::RULE,
    &not_here::RULE,
    &resource_label::RULE,
    &fraction::RULE,
    &gpudirect_unused::RULE,
    &resource_name::RULE,
    &maintenance_short::RULE,
    &dra_mps::RULE,
    &bucket_identity::RULE,
    &gpudirect_interfaces::RULE,
    &gpudirect_nodes::RULE,
    &gpudirect_part::RULE,
];
