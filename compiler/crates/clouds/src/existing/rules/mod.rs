//! Rules for clusters that gpuc does not create, one file each.

mod component_restricted;
mod gpu_owner_unstated;
mod node_pool_autoscaled;
mod node_pool_machine;
mod nodes_not_selected;
mod provider_key_unused;
mod provider_plugin_active;

use gpuc_model::check::Rule;

/// The rules, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &crate::context_unusable::RULE,
    &nodes_not_selected::RULE,
    &provider_key_unused::RULE,
    &gpu_owner_unstated::RULE,
    &provider_plugin_active::RULE,
    &node_pool_autoscaled::RULE,
    &component_restricted::RULE,
    &node_pool_machine::RULE,
];
