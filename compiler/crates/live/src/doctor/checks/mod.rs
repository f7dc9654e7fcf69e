//! The checks of running clusters, one file each.

mod cdi_injection_failed;
mod cluster_policy_ignored;
mod compute_domain_not_ready;
mod container_lost_gpu;
mod cordon_left_behind;
mod device_plugin_log;
mod device_plugin_not_running;
mod device_plugin_not_scheduled;
mod driver_library_mismatch;
mod driver_not_running;
mod driver_too_old_for_image;
mod driver_upgrade_stuck;
mod exporter_not_running;
mod fabric_manager_missing;
mod gpu_isolation_hole;
mod gpus_missing;
mod gpus_not_advertised;
mod gpus_unhealthy;
mod labels_missing;
mod messages;
mod mig_configuration_failed;
mod mig_configuration_stuck;
mod mig_manager_missing;
mod mig_profile_unknown;
mod monitor_not_selected;
mod nccl_over_tcp;
mod node_condition_reports_fault;
mod node_not_ready;
mod operator_validation_stuck;
mod plugin_on_cpu_nodes;
mod pod_toleration_missing;
mod runtime_class_missing;
mod runtime_handler_missing;
#[cfg(test)]
mod scenarios;
mod shared_memory_too_small;
mod sharing_not_applied;
mod stack;
mod stale_health_agent;
mod startup_taint_stuck;
mod two_device_plugins;
mod xid;

use super::check::Check;

/// Every check, by id.
pub static CHECKS: &[&Check] = &[
    &node_not_ready::CHECK,
    &driver_not_running::CHECK,
    &operator_validation_stuck::CHECK,
    &driver_upgrade_stuck::CHECK,
    &runtime_class_missing::CHECK,
    &runtime_handler_missing::CHECK,
    &cdi_injection_failed::CHECK,
    &driver_too_old_for_image::CHECK,
    &driver_library_mismatch::CHECK,
    &cluster_policy_ignored::CHECK,
    &device_plugin_log::CHECK,
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
    &node_condition_reports_fault::CHECK,
    &stale_health_agent::CHECK,
    &cordon_left_behind::CHECK,
    &mig_configuration_failed::CHECK,
    &mig_configuration_stuck::CHECK,
    &mig_profile_unknown::CHECK,
    &mig_manager_missing::CHECK,
    &pod_toleration_missing::CHECK,
    &container_lost_gpu::CHECK,
    &fabric_manager_missing::CHECK,
    &shared_memory_too_small::CHECK,
    &nccl_over_tcp::CHECK,
    &compute_domain_not_ready::CHECK,
    &gpu_isolation_hole::CHECK,
    &exporter_not_running::CHECK,
    &monitor_not_selected::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_sorted_by_id() {
        assert!(CHECKS.is_sorted_by_key(|check| check.code.id));
    }
}
