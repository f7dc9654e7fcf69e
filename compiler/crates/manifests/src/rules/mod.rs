//! The rules for manifests, one file each.

/// An example with ResourceClaims: a manifest for a cluster whose pool allocates GPUs through DRA.
macro_rules! claims_example {
    ($manifest:literal) => {
        concat!(
            r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
"#,
            $manifest
        )
    };
}

mod allow_unknown;
mod allow_unused;
mod amount_not_whole;
mod apart_too_many;
mod api_not_served;
mod autoscaler_over_limit;
mod beside_too_many;
mod claim_class_unknown;
mod claim_count;
mod claim_named_twice;
mod claim_not_listed;
mod claim_request_unknown;
mod claim_shape;
mod claim_twice;
mod claim_unknown;
mod claim_unused;
mod cluster_queue_unknown;
mod cuda_too_new;
mod cuda_too_old;
mod cuda_unknown;
mod custom_impossible;
mod custom_not_served;
mod custom_refused;
mod custom_unknown;
mod daemon_waits;
mod device_class_unknown;
mod device_plugin_second;
mod gang_too_large;
mod host_devices;
mod image_floating;
mod image_gone;
mod image_invalid;
mod incomplete;
mod job_over_quota;
mod label_deprecated;
mod label_elsewhere;
mod limit_range;
mod memory_tiny;
mod nodes_elsewhere;
mod not_looked_into;
mod nowhere_to_run;
mod pool_quota_exceeded;
mod priority_unknown;
mod privileged;
mod queue_missing;
mod queue_misspelt;
mod queue_of_others;
mod queue_refused;
mod queue_unknown;
mod quota_exceeded;
mod quota_refuses;
mod quota_unenforced;
mod range_refuses;
mod request_too_large;
mod requests_differ;
mod resource_malformed;
mod resource_of_others;
mod resource_uncounted;
mod resource_unknown;
mod runtime_class_unknown;
mod runtime_unknown;
mod scheduler_unknown;
mod security_refused;
mod sees_all_gpus;
mod selector_matches_nothing;
mod services_over_limit;
mod services_overfill_pool;
mod shares_several;
mod shm_missing;
mod slices_several;
mod spread_unknown;
mod team_limits_differ;
mod text_unquoted;
mod toleration_missing;
mod toleration_of_runtime;
mod toleration_unsaid;
mod toleration_useless;
mod topology_unknown;
mod unreadable;
mod update_stuck;
mod visible_devices;
mod volume_unbound;

use gpuc_syntax::diag::Code;

use super::Rule;

/// The rules for the total requests of several objects. The audit of patches computes its own totals, because it knows
/// each workload.
pub(super) static SUMS: [&Rule; 3] = [
    &services_over_limit::RULE,
    &services_overfill_pool::RULE,
    &gang_too_large::RULE,
];

/// The rule for the Pod Security Standards, which the audit of patches checks separately.
pub(super) static SECURITY: &Rule = &security_refused::RULE;

/// The rule for the CustomResourceDefinitions that gpuc installs, which the audit of patches checks separately.
pub(super) static DEFINITIONS: &Rule = &custom_impossible::RULE;

/// The rule for unknown schedulers, which the audit of patches also reports.
pub(super) static SCHEDULER: &Rule = &scheduler_unknown::RULE;

/// The code for a name in the annotation that allows nothing.
pub(super) static UNUSED: &Code = &allow_unused::CODE;

/// Codes that no rule reports.
pub static CODES: &[&Code] = &[&allow_unused::CODE];

/// Every code for manifests.
pub(super) fn codes() -> impl Iterator<Item = &'static Code> {
    let rules = RULES.iter().map(|rule| &rule.code);
    rules.chain(CODES.iter().copied())
}

/// The rule for misspelled fields and values.
pub(super) static NAMES: &Rule = &unreadable::RULE;

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
    &nowhere_to_run::RULE,
    &quota_exceeded::RULE,
    &shares_several::RULE,
    &sees_all_gpus::RULE,
    &shm_missing::RULE,
    &cuda_too_new::RULE,
    &image_gone::RULE,
    &image_floating::RULE,
    &quota_unenforced::RULE,
    &limit_range::RULE,
    &device_class_unknown::RULE,
    &host_devices::RULE,
    &privileged::RULE,
    &queue_missing::RULE,
    &not_looked_into::RULE,
    &queue_unknown::RULE,
    &label_elsewhere::RULE,
    &text_unquoted::RULE,
    &claim_unknown::RULE,
    &claim_twice::RULE,
    &claim_not_listed::RULE,
    &claim_unused::RULE,
    &visible_devices::RULE,
    &resource_malformed::RULE,
    &resource_of_others::RULE,
    &cuda_unknown::RULE,
    &unreadable::RULE,
    &priority_unknown::RULE,
    &custom_unknown::RULE,
    &services_over_limit::RULE,
    &services_overfill_pool::RULE,
    &claim_count::RULE,
    &claim_shape::RULE,
    &claim_request_unknown::RULE,
    &claim_named_twice::RULE,
    &gang_too_large::RULE,
    &api_not_served::RULE,
    &security_refused::RULE,
    &image_invalid::RULE,
    &incomplete::RULE,
    &apart_too_many::RULE,
    &autoscaler_over_limit::RULE,
    &claim_class_unknown::RULE,
    &team_limits_differ::RULE,
    &memory_tiny::RULE,
    &toleration_unsaid::RULE,
    &runtime_class_unknown::RULE,
    &update_stuck::RULE,
    &runtime_unknown::RULE,
    &nodes_elsewhere::RULE,
    &beside_too_many::RULE,
    &spread_unknown::RULE,
    &daemon_waits::RULE,
    &queue_refused::RULE,
    &topology_unknown::RULE,
    &scheduler_unknown::RULE,
    &custom_impossible::RULE,
    &queue_misspelt::RULE,
    &toleration_of_runtime::RULE,
    &job_over_quota::RULE,
    &pool_quota_exceeded::RULE,
    &resource_uncounted::RULE,
    &cluster_queue_unknown::RULE,
    &queue_of_others::RULE,
    &range_refuses::RULE,
    &quota_refuses::RULE,
    &slices_several::RULE,
    &allow_unknown::RULE,
    &custom_refused::RULE,
    &custom_not_served::RULE,
    &device_plugin_second::RULE,
    &volume_unbound::RULE,
    &cuda_too_old::RULE,
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
