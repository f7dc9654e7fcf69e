//! The checks of running clusters, one file each.

mod claim_not_allocated;
mod cluster_queue_inactive;
mod device_plugin_not_running;
mod device_plugin_not_scheduled;
mod drain_blocked;
mod flavor_mismatch;
mod gpus_fragmented;
mod gpus_not_advertised;
mod gpus_unhealthy;
mod job_still_suspended;
mod limit_range_violated;
mod messages;
mod node_claim_stuck;
mod node_not_ready;
mod node_pool_incompatible;
mod nodes_cordoned;
mod pod_labels_unmatched;
mod pod_rejected_by_kubelet;
mod pod_resource_not_offered;
mod pod_stranded;
mod pod_toleration_missing;
mod pod_too_large;
mod pod_volume_not_bound;
mod pod_waits_for_gpus;
mod pods;
mod pods_refused;
mod queue_missing;
mod quota_exceeded;
mod refusals;
mod resource_not_covered;
mod scale_up_not_possible;
mod topology_too_small;
mod webhook_unavailable;
mod webhooks;
mod workload_too_large;
mod workloads;

use super::check::Check;

/// Every check, by id.
pub static CHECKS: &[&Check] = &[
    &node_not_ready::CHECK,
    &gpus_not_advertised::CHECK,
    &device_plugin_not_scheduled::CHECK,
    &device_plugin_not_running::CHECK,
    &gpus_unhealthy::CHECK,
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
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_sorted_by_id() {
        assert!(CHECKS.is_sorted_by_key(|check| check.code.id));
    }
}
