//! Rules about a resolved cluster, one per file, and the proof that the cluster passed them.
//!
//! Each rule contains its explanation: what it checks, why it matters, how to fix it, and an example that breaks it.
//! The examples are the test. A rule reports nothing about an unresolved value, because its cause was reported.
//!
//! A mistake deserves a rule when it can be decided from the file and from facts with a source, and when the user would
//! otherwise notice it only after something was created, or never. An error is a configuration that cannot work, or a
//! key that would be accepted and ignored. A warning is a configuration that works in some environments, or a rule that
//! rests on common knowledge. Rules that concern one cloud are in that cloud's folder; the rules here consult the
//! cloud's facts and name no cloud. Ranges and enumerations belong to the schema. Values that cannot be resolved are
//! reported by `resolve`.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

mod allocatable_invalid;
mod allow_unknown;
mod alternative_machine_different;
mod alternative_machines_unavailable;
mod authorized_range_malformed;
mod authorized_range_redundant;
mod auto_repair_unsupported;
mod autoscaler_missing;
mod autoscaler_nodes_unready;
mod autoscaler_unavailable;
mod capacity_too_small;
mod capacity_unavailable;
mod cluster_name_invalid;
mod compute_domains_mixed;
mod compute_domains_unavailable;
mod extended_resource_ambiguous;
mod extended_resource_queued_twice;
mod extended_resources_kubernetes_too_old;
mod extended_resources_with_mps;
mod extended_resources_without_dra;
mod gds_driver_unavailable;
mod gpus_per_container_ignores_dra;
mod gpus_per_container_unenforced;

mod dashboards_without_grafana;
mod device_plugin_conflict;
mod digest_malformed;
mod disk_size_unsupported;
mod dra_driver_roots_differ;
mod dra_kubernetes_too_old;
mod dra_mig_not_managed;
mod dra_mps_evicted;
mod dra_replicas_unsupported;
mod dra_scale_from_zero;
mod dra_scale_from_zero_managed;
mod dra_with_device_plugin;
mod driver_before_architecture;
mod driver_branch_ended;
mod driver_branch_new;
mod driver_branch_unknown;
mod driver_image_unused;
mod driver_missing;
mod driver_too_new;
mod driver_too_old;
mod driver_unavailable;
mod driver_version_unreadable;
mod driver_version_unused;
mod existing_pool_key_unused;
mod existing_selector_ambiguous;
mod exporter_without_runtime;
mod extras_unavailable;
pub(crate) mod feature_discovery_alone;
mod floating_tags;
mod gitops_branch_invalid;
mod gitops_chart_secret_unused;
mod gitops_name_invalid;
mod gitops_path_invalid;
mod gitops_path_mismatch;
mod gitops_repository_invalid;
mod gitops_secret_missing;
mod gpudirect_unavailable;
mod guarantee_not_enforced;
mod guarantee_violated;
mod guard_exempt_all;
mod guard_exempt_wrong;
mod guard_without_gpus;
mod hosts_unsupported;
mod idle_metrics_unavailable;
mod image_invalid;
mod imex_unavailable;
mod isolation_unverified;
mod label_invalid;
mod label_reserved;
mod local_disks_unavailable;
mod machine_mistyped;
mod machine_not_standalone;
mod machine_preview;
mod machine_previous_generation;
mod machine_retired;
mod mig_not_managed;
mod mig_on_fractional_gpu;
mod mig_single_mixed_profiles;
mod mirror_malformed;
mod monitoring_name_invalid;
mod monitoring_without_gpus;
mod mps_label_missing;
mod node_image_unavailable;
mod nodes_too_many;
mod notebook_image_missing;
mod notebook_login_dummy;
mod notebook_login_missing;
mod notebook_multiple_replicas;
mod notebook_pool_dedicated;
mod notebook_pool_missing;
mod notebook_resource_unavailable;
mod notebook_secrets_random;
mod notebook_unschedulable;
mod notebook_value_invalid;
mod nvidia_runtime_missing;
mod operator_driver_unsupported;
mod operator_driver_version;
mod operator_label_missing;
mod operator_label_reserved;
mod operator_setting_conflict;
mod os_family_unavailable;
mod os_kubernetes_mismatch;
mod overcommit_unused;
mod placeholder_not_replaced;
mod placement_several_zones;
mod plugin_unavailable;
mod pool_name_duplicate;
mod pool_name_invalid;
mod priority_invalid;
mod queries;
mod queue_claims_uncounted;
mod queue_lends_too_much;
mod queue_preempts_anyway;
mod queue_quota_incomplete;
mod queue_setting_unused;
mod queue_too_large;
mod queue_topology_unsupported;
mod queue_weight_invalid;
mod queue_without_gpus;
mod queue_without_teams;
mod quota_across_namespaces;
mod quota_limit_unreachable;
mod quota_overcommitted;
mod quota_pool_dedicated;
mod quota_pools_indistinguishable;
mod quota_spans_pools;
mod rack_nvlink_unused;
mod rdma_network_missing;
mod rdma_unavailable;
mod region_mistyped;
mod region_unknown;
mod replicas_out_of_range;
mod reservation_exceeded;
mod reservation_shared;
mod shared_reservations;
mod surge_exceeds_reservation;

mod runtime_image_missing;
mod runtime_image_unused;
mod runtime_setting_unused;
mod scale_from_zero;
mod service_update_stuck;
mod services_overfill_pool;
mod sharing_without_gpus;
mod stack_without_gpus;
mod storage_bucket_name;
mod storage_bucket_unavailable;
mod storage_class_name;
mod storage_default_unknown;
mod storage_setting_wrong;
mod storage_unavailable;

mod system_pods_unschedulable;
mod tags_unused;
mod taint_duplicate;
mod taint_invalid;
mod taint_reserved;
mod taint_value_missing;
mod team_amount_invalid;
mod team_default_unschedulable;
mod team_member_invalid;
mod team_name_invalid;
mod team_namespace_invalid;
mod team_quota_unreachable;
mod team_services_over_limit;
mod team_without_quota;
mod team_workloads_over_limit;
#[cfg(test)]
mod testing;
mod text_unprintable;

mod disruption_budget_blocks_eviction;
mod initial_nodes_invalid;
mod interconnect_variable_overridden;
mod kubernetes_support_ending;
mod messages;
mod volume_class_missing;
mod workload_class_unknown;
mod workload_command_missing;
mod workload_counts;
mod workload_huge_pages_missing;
mod workload_interconnect_forbidden;
mod workload_kind_unclear;
mod workload_name_invalid;
mod workload_namespace_privileged;
mod workload_over_quota;
mod workload_patch_identity;
mod workload_pool_dedicated;
mod workload_pool_unknown;
mod workload_priority_reserved;
mod workload_processes_over_gpus;
mod workload_root_refused;
mod workload_serving;
mod workload_team_unclear;
mod workload_unschedulable;
mod workload_value_invalid;
mod workload_variable_reserved;
pub(crate) mod workload_visible_devices_set;
mod workload_volume_one_node;

use gpuc_model::check::Rule;

/// The rules that hold on every cloud, by id.
pub static RULES: &[&Rule] = &[
    &pool_name_invalid::RULE,
    &cluster_name_invalid::RULE,
    &pool_name_duplicate::RULE,
    &label_invalid::RULE,
    &label_reserved::RULE,
    &taint_invalid::RULE,
    &taint_value_missing::RULE,
    &taint_duplicate::RULE,
    &existing_selector_ambiguous::RULE,
    &os_family_unavailable::RULE,
    &os_kubernetes_mismatch::RULE,
    &autoscaler_unavailable::RULE,
    &autoscaler_missing::RULE,
    &scale_from_zero::RULE,
    &machine_retired::RULE,
    &machine_previous_generation::RULE,
    &machine_preview::RULE,
    &machine_not_standalone::RULE,
    &sharing_without_gpus::RULE,
    &mig_on_fractional_gpu::RULE,
    &replicas_out_of_range::RULE,
    &mig_single_mixed_profiles::RULE,
    &runtime_image_missing::RULE,
    &floating_tags::RULE,
    &image_invalid::RULE,
    &driver_unavailable::RULE,
    &plugin_unavailable::RULE,
    &driver_missing::RULE,
    &device_plugin_conflict::RULE,
    &driver_too_old::RULE,
    &driver_too_new::RULE,
    &driver_version_unreadable::RULE,
    &driver_version_unused::RULE,
    &driver_image_unused::RULE,
    &runtime_image_unused::RULE,
    &capacity_unavailable::RULE,
    &capacity_too_small::RULE,
    &nodes_too_many::RULE,
    &existing_pool_key_unused::RULE,
    &hosts_unsupported::RULE,
    &allow_unknown::RULE,
    &stack_without_gpus::RULE,
    &system_pods_unschedulable::RULE,
    &text_unprintable::RULE,
    &autoscaler_nodes_unready::RULE,
    &nvidia_runtime_missing::RULE,
    &mig_not_managed::RULE,
    &mps_label_missing::RULE,
    &tags_unused::RULE,
    &placeholder_not_replaced::RULE,
    &taint_reserved::RULE,
    &region_unknown::RULE,
    &extras_unavailable::RULE,
    &imex_unavailable::RULE,
    &runtime_setting_unused::RULE,
    &exporter_without_runtime::RULE,
    &dashboards_without_grafana::RULE,
    &monitoring_without_gpus::RULE,
    &monitoring_name_invalid::RULE,
    &gitops_repository_invalid::RULE,
    &gitops_path_invalid::RULE,
    &gitops_branch_invalid::RULE,
    &gitops_name_invalid::RULE,
    &gitops_path_mismatch::RULE,
    &gitops_secret_missing::RULE,
    &idle_metrics_unavailable::RULE,
    &operator_driver_unsupported::RULE,
    &operator_setting_conflict::RULE,
    &operator_driver_version::RULE,
    &operator_label_reserved::RULE,
    &operator_label_missing::RULE,
    &gitops_chart_secret_unused::RULE,
    &storage_unavailable::RULE,
    &storage_class_name::RULE,
    &storage_setting_wrong::RULE,
    &storage_default_unknown::RULE,
    &surge_exceeds_reservation::RULE,
    &auto_repair_unsupported::RULE,
    &local_disks_unavailable::RULE,
    &dra_kubernetes_too_old::RULE,
    &dra_with_device_plugin::RULE,
    &dra_mig_not_managed::RULE,
    &dra_scale_from_zero::RULE,
    &dra_scale_from_zero_managed::RULE,
    &dra_replicas_unsupported::RULE,
    &dra_driver_roots_differ::RULE,
    &dra_mps_evicted::RULE,
    &rdma_unavailable::RULE,
    &digest_malformed::RULE,
    &mirror_malformed::RULE,
    &disk_size_unsupported::RULE,
    &reservation_exceeded::RULE,
    &reservation_shared::RULE,
    &storage_bucket_unavailable::RULE,
    &storage_bucket_name::RULE,
    &guarantee_violated::RULE,
    &notebook_pool_missing::RULE,
    &notebook_resource_unavailable::RULE,
    &notebook_multiple_replicas::RULE,
    &notebook_image_missing::RULE,
    &notebook_login_missing::RULE,
    &notebook_login_dummy::RULE,
    &notebook_secrets_random::RULE,
    &notebook_value_invalid::RULE,
    &team_name_invalid::RULE,
    &team_namespace_invalid::RULE,
    &team_member_invalid::RULE,
    &team_amount_invalid::RULE,
    &priority_invalid::RULE,
    &quota_across_namespaces::RULE,
    &quota_pools_indistinguishable::RULE,
    &quota_spans_pools::RULE,
    &quota_overcommitted::RULE,
    &quota_limit_unreachable::RULE,
    &guarantee_not_enforced::RULE,
    &overcommit_unused::RULE,
    &team_without_quota::RULE,
    &isolation_unverified::RULE,
    &quota_pool_dedicated::RULE,
    &queue_without_teams::RULE,
    &queue_setting_unused::RULE,
    &queue_quota_incomplete::RULE,
    &queue_claims_uncounted::RULE,
    &queue_too_large::RULE,
    &queue_topology_unsupported::RULE,
    &queue_weight_invalid::RULE,
    &queue_without_gpus::RULE,
    &queue_lends_too_much::RULE,
    &queue_preempts_anyway::RULE,
    &workload_kind_unclear::RULE,
    &workload_name_invalid::RULE,
    &workload_pool_unknown::RULE,
    &workload_team_unclear::RULE,
    &workload_unschedulable::RULE,
    &workload_patch_identity::RULE,
    &workload_value_invalid::RULE,
    &workload_over_quota::RULE,
    &workload_volume_one_node::RULE,
    &workload_interconnect_forbidden::RULE,
    &gpudirect_unavailable::RULE,
    &disruption_budget_blocks_eviction::RULE,
    &notebook_unschedulable::RULE,
    &guard_exempt_all::RULE,
    &workload_root_refused::RULE,
    &workload_huge_pages_missing::RULE,
    &workload_namespace_privileged::RULE,
    &workload_pool_dedicated::RULE,
    &workload_class_unknown::RULE,
    &workload_variable_reserved::RULE,
    &team_services_over_limit::RULE,
    &team_workloads_over_limit::RULE,
    &services_overfill_pool::RULE,
    &gpus_per_container_unenforced::RULE,
    &gpus_per_container_ignores_dra::RULE,
    &allocatable_invalid::RULE,
    &workload_visible_devices_set::RULE,
    &interconnect_variable_overridden::RULE,
    &service_update_stuck::RULE,
    &guard_without_gpus::RULE,
    &guard_exempt_wrong::RULE,
    &placement_several_zones::RULE,
    &notebook_pool_dedicated::RULE,
    &team_default_unschedulable::RULE,
    &team_quota_unreachable::RULE,
    &volume_class_missing::RULE,
    &kubernetes_support_ending::RULE,
    &machine_mistyped::RULE,
    &region_mistyped::RULE,
    &driver_branch_unknown::RULE,
    &driver_branch_new::RULE,
    &driver_branch_ended::RULE,
    &driver_before_architecture::RULE,
    &workload_priority_reserved::RULE,
    &feature_discovery_alone::RULE,
    &node_image_unavailable::RULE,
    &authorized_range_malformed::RULE,
    &authorized_range_redundant::RULE,
    &extended_resources_kubernetes_too_old::RULE,
    &extended_resource_ambiguous::RULE,
    &extended_resources_with_mps::RULE,
    &extended_resources_without_dra::RULE,
    &extended_resource_queued_twice::RULE,
    &gds_driver_unavailable::RULE,
    &rdma_network_missing::RULE,
    &workload_processes_over_gpus::RULE,
    &workload_command_missing::RULE,
    &compute_domains_unavailable::RULE,
    &compute_domains_mixed::RULE,
    &rack_nvlink_unused::RULE,
    &initial_nodes_invalid::RULE,
    &alternative_machines_unavailable::RULE,
    &alternative_machine_different::RULE,
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rules_are_sorted_by_id_with_unique_names() {
        assert!(RULES.is_sorted_by(|a, b| a.code.id < b.code.id));
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.code.name).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b));
    }

    #[expect(clippy::disallowed_methods, reason = "the test reads its own folder")]
    #[test]
    fn every_rule_is_listed_and_named_after_its_file() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let mut files = Vec::new();
        for file in fs::read_dir(folder).expect("the folder of the rules") {
            let path = file.expect("a file").path();
            let text = fs::read_to_string(&path).expect("a text");
            let is_rule = |reach| text.contains(&format!("\npub({reach}) static RULE: Rule"));
            if is_rule("super") || is_rule("crate") {
                let name = path.file_stem().expect("a name").to_string_lossy();
                files.push(name.replace('_', "-"));
            }
        }
        let mut listed: Vec<_> = RULES.iter().map(|rule| rule.code.name.to_owned()).collect();
        files.sort();
        listed.sort();
        assert_eq!(files, listed);
    }
}
