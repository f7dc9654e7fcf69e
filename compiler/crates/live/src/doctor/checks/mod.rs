//! The checks of running clusters, one file each.

mod device_plugin_not_running;
mod device_plugin_not_scheduled;
mod driver_not_running;
mod driver_upgrade_stuck;
mod gpus_missing;
mod gpus_not_advertised;
mod gpus_unhealthy;
mod labels_missing;
mod messages;
mod node_not_ready;
mod operator_validation_stuck;
mod plugin_on_cpu_nodes;
mod pod_toleration_missing;
mod sharing_not_applied;
mod stack;
mod startup_taint_stuck;
mod two_device_plugins;

use super::check::Check;

/// Every check, by id.
pub static CHECKS: &[&Check] = &[
    &node_not_ready::CHECK,
    &driver_not_running::CHECK,
    &operator_validation_stuck::CHECK,
    &driver_upgrade_stuck::CHECK,
    &gpus_not_advertised::CHECK,
    &device_plugin_not_scheduled::CHECK,
    &device_plugin_not_running::CHECK,
    &two_device_plugins::CHECK,
    &gpus_missing::CHECK,
    &sharing_not_applied::CHECK,
    &startup_taint_stuck::CHECK,
    &plugin_on_cpu_nodes::CHECK,
    &labels_missing::CHECK,
    &gpus_unhealthy::CHECK,
    &pod_toleration_missing::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_sorted_by_id() {
        assert!(CHECKS.is_sorted_by_key(|check| check.code.id));
    }
}
