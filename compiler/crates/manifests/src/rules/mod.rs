//! The rules for manifests, one file each.

#[macro_use]
mod claims_example;

mod affinity_unsatisfiable;
mod allow_unknown;
mod allow_unused;
mod amount_not_whole;
mod anti_affinity_unsatisfiable;
mod api_not_served;
mod autoscaler_over_limit;
mod claim_class_unknown;
mod claim_count;
mod claim_named_twice;
mod claim_not_listed;
mod claim_request_unknown;
mod claim_unknown;
mod claim_unused;
mod claim_version_mismatch;
mod cluster_queue_unknown;
mod compute_domain_disabled;
mod cuda_too_new;
mod cuda_too_old;
mod cuda_unknown;
mod custom_resource_field_unknown;
mod custom_resource_invalid;
mod custom_resource_not_served;
mod custom_resource_rule_violated;
mod daemonset_unschedulable;
mod default_gpu;
mod device_class_unknown;
mod device_created;
mod duplicate_device_plugin;
mod expression_invalid;
mod foreign_cloud_label;
mod gang_too_large;
mod gpu_requested_twice;
mod host_devices;
mod image_floating;
mod image_invalid;
mod image_not_found;
mod implicit_gpu_access;
mod incomplete;
mod job_over_quota;
mod label_deprecated;
mod limit_range_invalid;
mod limit_range_violated;
mod memory_ratio;
mod memory_tiny;
mod metric_label_absent;
mod metric_not_exported;
mod metric_type_mismatch;
mod multiple_mig_devices;
mod multiple_replicas;
mod no_matching_pool;
mod node_name;
mod node_rank_fixed;
mod object_duplicated;
mod pod_security_violated;
mod pool_quota_exceeded;
mod priority_reserved;
mod priority_unknown;
mod privileged;
mod processes_over_gpus;
mod queue_missing;
mod queue_misspelled;
mod queue_of_other_team;
mod queue_refused;
mod queue_unknown;
mod quota_exceeded;
mod quota_unenforced;
mod request_too_large;
mod requests_differ;
mod resource_malformed;
mod resource_not_nvidia;
mod resource_quota_exceeded;
mod resource_unknown;
mod resource_without_quota;
mod runtime_class_unknown;
mod runtime_toleration_missing;
mod runtime_unknown;
mod scheduler_unknown;
mod selector_matches_nothing;
mod selector_missing;
mod selector_outside_pools;
mod services_over_limit;
mod services_overfill_pool;
mod shm_missing;
mod shm_over_memory;
mod spread_unknown;
mod team_limits_differ;
mod text_unquoted;
mod threshold_out_of_range;
mod toleration_missing;
mod toleration_useless;
mod topology_unknown;
mod trainjob_toleration_missing;
mod unchecked_gpu_request;
mod unreadable;
mod update_stuck;
mod variable_not_expanded;
mod visible_devices;
mod volume_unbound;

use gpuc_syntax::diag::Code;

use super::Rule;

/// The rules for the total requests of several objects. The audit of patches computes its own totals, because it knows
/// each workload.
pub(super) static TOTALS_RULES: [&Rule; 3] = [
    &services_over_limit::RULE,
    &services_overfill_pool::RULE,
    &gang_too_large::RULE,
];

/// The rule for the Pod Security Standards, which the audit of patches checks separately.
pub(super) static SECURITY_RULE: &Rule = &pod_security_violated::RULE;

/// The rule for the CustomResourceDefinitions that gpuc installs, which the audit of patches checks separately.
pub(super) static DEFINITIONS_RULE: &Rule = &custom_resource_invalid::RULE;

/// The rule for unknown schedulers, which the audit of patches also reports.
pub(super) static SCHEDULER_RULE: &Rule = &scheduler_unknown::RULE;

/// The code for a name in the annotation that allows nothing.
pub(super) static UNUSED_ALLOW_CODE: &Code = &allow_unused::CODE;

/// Codes that no rule reports.
pub static CODES: &[&Code] = &[&allow_unused::CODE];

/// Every code for manifests.
pub(super) fn rule_codes() -> impl Iterator<Item = &'static Code> {
    let rules = RULES.iter().map(|rule| &rule.code);
    rules.chain(CODES.iter().copied())
}

/// The rule for misspelled fields and values.
pub(super) static UNREADABLE_RULE: &Rule = &unreadable::RULE;

/// Every rule, by id.
pub static RULES: &[&Rule] = &[
    &resource_unknown::RULE,
    &requests_differ::RULE,
    &amount_not_whole::RULE,
    &toleration_missing::RULE,
    &toleration_useless::RULE,
    &selector_matches_nothing::RULE,
    &label_deprecated::RULE,
    &request_too_large::RULE,
    &no_matching_pool::RULE,
    &quota_exceeded::RULE,
    &multiple_replicas::RULE,
    &implicit_gpu_access::RULE,
    &shm_missing::RULE,
    &cuda_too_new::RULE,
    &image_not_found::RULE,
    &image_floating::RULE,
    &quota_unenforced::RULE,
    &limit_range_invalid::RULE,
    &device_class_unknown::RULE,
    &host_devices::RULE,
    &privileged::RULE,
    &queue_missing::RULE,
    &unchecked_gpu_request::RULE,
    &queue_unknown::RULE,
    &foreign_cloud_label::RULE,
    &text_unquoted::RULE,
    &claim_unknown::RULE,
    &gpu_requested_twice::RULE,
    &claim_not_listed::RULE,
    &claim_unused::RULE,
    &visible_devices::RULE,
    &resource_malformed::RULE,
    &resource_not_nvidia::RULE,
    &cuda_unknown::RULE,
    &unreadable::RULE,
    &priority_unknown::RULE,
    &custom_resource_field_unknown::RULE,
    &services_over_limit::RULE,
    &services_overfill_pool::RULE,
    &claim_count::RULE,
    &claim_version_mismatch::RULE,
    &claim_request_unknown::RULE,
    &claim_named_twice::RULE,
    &gang_too_large::RULE,
    &api_not_served::RULE,
    &pod_security_violated::RULE,
    &image_invalid::RULE,
    &incomplete::RULE,
    &anti_affinity_unsatisfiable::RULE,
    &autoscaler_over_limit::RULE,
    &claim_class_unknown::RULE,
    &team_limits_differ::RULE,
    &memory_tiny::RULE,
    &runtime_toleration_missing::RULE,
    &runtime_class_unknown::RULE,
    &update_stuck::RULE,
    &runtime_unknown::RULE,
    &selector_outside_pools::RULE,
    &affinity_unsatisfiable::RULE,
    &spread_unknown::RULE,
    &daemonset_unschedulable::RULE,
    &queue_refused::RULE,
    &topology_unknown::RULE,
    &scheduler_unknown::RULE,
    &custom_resource_invalid::RULE,
    &queue_misspelled::RULE,
    &trainjob_toleration_missing::RULE,
    &job_over_quota::RULE,
    &pool_quota_exceeded::RULE,
    &resource_without_quota::RULE,
    &cluster_queue_unknown::RULE,
    &queue_of_other_team::RULE,
    &limit_range_violated::RULE,
    &resource_quota_exceeded::RULE,
    &multiple_mig_devices::RULE,
    &allow_unknown::RULE,
    &custom_resource_rule_violated::RULE,
    &custom_resource_not_served::RULE,
    &duplicate_device_plugin::RULE,
    &volume_unbound::RULE,
    &cuda_too_old::RULE,
    &node_name::RULE,
    &priority_reserved::RULE,
    &selector_missing::RULE,
    &object_duplicated::RULE,
    &shm_over_memory::RULE,
    &default_gpu::RULE,
    &processes_over_gpus::RULE,
    &device_created::RULE,
    &expression_invalid::RULE,
    &metric_type_mismatch::RULE,
    &memory_ratio::RULE,
    &metric_not_exported::RULE,
    &metric_label_absent::RULE,
    &threshold_out_of_range::RULE,
    &node_rank_fixed::RULE,
    &compute_domain_disabled::RULE,
    &variable_not_expanded::RULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_sorted_by_id() {
        assert!(RULES.is_sorted_by(|a, b| a.code.id < b.code.id));
        assert!(
            RULES
                .iter()
                .all(|rule| rule.code.name.starts_with("manifest-"))
        );
    }
}
