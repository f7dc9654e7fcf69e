//! Rules specific to on-premises clusters, one file each.

mod context_unusable;
mod existing_with_hosts;
mod host_name_invalid;
mod host_twice;
mod hosts_missing;
mod key_needs_machines;
mod nodes_not_fixed;
mod nodes_not_hosts;

use gpuc_model::check::Rule;

/// The rules, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &hosts_missing::RULE,
    &host_twice::RULE,
    &host_name_invalid::RULE,
    &nodes_not_hosts::RULE,
    &nodes_not_fixed::RULE,
    &key_needs_machines::RULE,
    &existing_with_hosts::RULE,
    &context_unusable::RULE,
];
