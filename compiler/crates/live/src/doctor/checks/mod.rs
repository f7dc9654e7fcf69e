//! The checks of running clusters, one file each.

mod cdi_injection_failed;
mod claim_not_allocated;
mod cloud_pool_failed;
mod cluster_policy_ignored;
mod cluster_queue_inactive;
mod collective_timed_out;
mod compute_domain_not_ready;
mod container_lost_gpu;
mod container_toolkit_not_running;
mod cordon_left_behind;
mod device_plugin_log;
mod device_plugin_not_running;
mod device_plugin_not_scheduled;
mod drain_blocked;
mod driver_library_mismatch;
mod driver_not_running;
mod driver_too_old_for_image;
mod driver_upgrade_stuck;
mod driver_version_ignored;
mod exporter_not_running;
mod fabric_manager_missing;
mod feature_discovery_not_scheduled;
mod flavor_mismatch;
mod gpu_isolation_hole;
mod gpu_memory_error;
mod gpu_too_new_for_image;
mod gpus_fragmented;
mod gpus_missing;
mod gpus_not_advertised;
mod gpus_unhealthy;
mod imex_channel_missing;
mod job_still_suspended;
mod labels_missing;
mod limit_range_violated;
mod messages;
mod mig_configuration_failed;
mod mig_configuration_stuck;
mod mig_manager_missing;
mod mig_profile_unknown;
mod monitor_not_selected;
mod nccl_over_tcp;
mod node_claim_stuck;
mod node_class_not_ready;
mod node_condition_reports_fault;
mod node_not_ready;
mod node_pool_incompatible;
mod nodes_cordoned;
mod operator_validation_stuck;
mod plugin_on_cpu_nodes;
mod pod_labels_unmatched;
mod pod_not_running;
mod pod_rejected_by_kubelet;
mod pod_resource_not_offered;
mod pod_stranded;
mod pod_toleration_missing;
mod pod_too_large;
mod pod_volume_not_bound;
mod pod_waits_for_gpus;
mod pods;
mod pods_refused;
mod pool_without_nodes;
mod queue_missing;
mod quota_exceeded;
mod refusals;
mod replica_label_wrong;
mod resource_not_covered;
mod runtime_class_missing;
mod runtime_handler_missing;
mod scale_up_not_possible;
#[cfg(test)]
mod scenarios;
mod shared_memory_too_small;
mod sharing_not_applied;
mod stack;
mod stale_health_agent;
mod startup_taint_stuck;
mod topology_too_small;
mod two_device_plugins;
mod webhook_unavailable;
mod webhooks;
mod workload_too_large;
mod workloads;
mod xid;

use super::check::Check;

pub(crate) use messages::misfit_text;

/// Every check, by id.
pub static CHECKS: &[&Check] = &[
    &node_not_ready::CHECK,
    &pool_without_nodes::CHECK,
    &cloud_pool_failed::CHECK,
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
    &container_toolkit_not_running::CHECK,
    &feature_discovery_not_scheduled::CHECK,
    &driver_version_ignored::CHECK,
    &gpus_not_advertised::CHECK,
    &device_plugin_not_scheduled::CHECK,
    &device_plugin_not_running::CHECK,
    &two_device_plugins::CHECK,
    &gpus_missing::CHECK,
    &sharing_not_applied::CHECK,
    &startup_taint_stuck::CHECK,
    &plugin_on_cpu_nodes::CHECK,
    &labels_missing::CHECK,
    &replica_label_wrong::CHECK,
    &gpus_unhealthy::CHECK,
    &node_condition_reports_fault::CHECK,
    &stale_health_agent::CHECK,
    &cordon_left_behind::CHECK,
    &gpu_memory_error::CHECK,
    &mig_configuration_failed::CHECK,
    &mig_configuration_stuck::CHECK,
    &mig_profile_unknown::CHECK,
    &mig_manager_missing::CHECK,
    &pod_resource_not_offered::CHECK,
    &pod_too_large::CHECK,
    &pod_toleration_missing::CHECK,
    &pod_labels_unmatched::CHECK,
    &pod_waits_for_gpus::CHECK,
    &pod_stranded::CHECK,
    &gpus_fragmented::CHECK,
    &nodes_cordoned::CHECK,
    &pod_rejected_by_kubelet::CHECK,
    &pod_volume_not_bound::CHECK,
    &claim_not_allocated::CHECK,
    &drain_blocked::CHECK,
    &quota_exceeded::CHECK,
    &limit_range_violated::CHECK,
    &pods_refused::CHECK,
    &webhook_unavailable::CHECK,
    &workload_too_large::CHECK,
    &cluster_queue_inactive::CHECK,
    &queue_missing::CHECK,
    &flavor_mismatch::CHECK,
    &resource_not_covered::CHECK,
    &job_still_suspended::CHECK,
    &topology_too_small::CHECK,
    &scale_up_not_possible::CHECK,
    &node_pool_incompatible::CHECK,
    &node_claim_stuck::CHECK,
    &node_class_not_ready::CHECK,
    &container_lost_gpu::CHECK,
    &fabric_manager_missing::CHECK,
    &shared_memory_too_small::CHECK,
    &nccl_over_tcp::CHECK,
    &compute_domain_not_ready::CHECK,
    &gpu_isolation_hole::CHECK,
    &gpu_too_new_for_image::CHECK,
    &collective_timed_out::CHECK,
    &imex_channel_missing::CHECK,
    &exporter_not_running::CHECK,
    &monitor_not_selected::CHECK,
    &pod_not_running::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_sorted_by_id() {
        assert!(CHECKS.is_sorted_by_key(|check| check.code.id));
    }
}
