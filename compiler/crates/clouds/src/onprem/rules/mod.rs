//! Rules specific to on-premises clusters, one file each.

mod cloud_only_key;
mod existing_with_hosts;
mod host_count_mismatch;
mod host_driver_vulnerable;
mod host_name_invalid;
mod host_twice;
mod hosts_missing;
mod node_range_unsupported;
mod package_source_invalid;
mod packages_unused;

use gpuc_model::check::Rule;

/// The rules, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &hosts_missing::RULE,
    &host_twice::RULE,
    &host_name_invalid::RULE,
    &host_count_mismatch::RULE,
    &node_range_unsupported::RULE,
    &cloud_only_key::RULE,
    &existing_with_hosts::RULE,
    &crate::context_unusable::RULE,
    &package_source_invalid::RULE,
    &packages_unused::RULE,
    &host_driver_vulnerable::RULE,
];
