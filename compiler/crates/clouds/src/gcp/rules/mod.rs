//! Rules specific to GKE, one file each.

mod accelerator_zone;
mod address_range;
mod blue_green_conflict;
mod bucket_identity;
mod default_pool_name;
mod default_service_account;
mod dns_endpoint_open;
mod dra_mps;
mod driver_owner;
mod driver_version;
mod exclusion_malformed;
mod flex_start_conflict;
mod flex_start_duration;
mod fractional_gpu_unverified;
mod gpudirect_interfaces;
mod gpudirect_managed;
mod gpudirect_nodes;
mod gpudirect_partial_node;
mod gpudirect_unused;
mod initial_nodes_uneven;
mod location;
mod maintenance_short;
mod max_pods;
mod members_without_security_group;
mod mig_layout;
mod node_count_uneven;
mod placement_reserved;
mod plugin_label;
mod private_endpoint;
mod project_id;
mod queued_without_requests;
mod rack;
mod rename_unsupported;
mod resource_label;
mod resource_name;
mod secrets_key;
mod security_group;
mod service_account;
mod service_account_unused;
mod setting_unsupported;
mod system_pool_missing;
mod taint_automatic;
mod taint_key_twice;
mod upgrade_incomplete;
mod zone_outside_region;

use gpuc_model::check::Rule;

/// The rules, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &project_id::RULE,
    &location::RULE,
    &zone_outside_region::RULE,
    &accelerator_zone::RULE,
    &node_count_uneven::RULE,
    &driver_owner::RULE,
    &driver_version::RULE,
    &taint_automatic::RULE,
    &taint_key_twice::RULE,
    &plugin_label::RULE,
    &mig_layout::RULE,
    &rename_unsupported::RULE,
    &system_pool_missing::RULE,
    &default_pool_name::RULE,
    &max_pods::RULE,
    &upgrade_incomplete::RULE,
    &setting_unsupported::RULE,
    &resource_label::RULE,
    &fractional_gpu_unverified::RULE,
    &gpudirect_unused::RULE,
    &resource_name::RULE,
    &blue_green_conflict::RULE,
    &maintenance_short::RULE,
    &dra_mps::RULE,
    &bucket_identity::RULE,
    &exclusion_malformed::RULE,
    &private_endpoint::RULE,
    &dns_endpoint_open::RULE,
    &security_group::RULE,
    &members_without_security_group::RULE,
    &initial_nodes_uneven::RULE,
    &flex_start_duration::RULE,
    &flex_start_conflict::RULE,
    &queued_without_requests::RULE,
    &default_service_account::RULE,
    &service_account::RULE,
    &address_range::RULE,
    &secrets_key::RULE,
    &service_account_unused::RULE,
    &gpudirect_interfaces::RULE,
    &gpudirect_nodes::RULE,
    &gpudirect_partial_node::RULE,
    &placement_reserved::RULE,
    &gpudirect_managed::RULE,
    &rack::RULE,
];
