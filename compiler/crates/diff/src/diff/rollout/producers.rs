//! The functions that produce the steps of a rollout, and the steps in the order of their phases.

use super::super::report::Step;
use super::phases::{Order, Planned};
use super::states::Rollout;
use super::{
    cleanup, cloud, data, delivery, device_classes, gitops, hosts, namespaces, node_provisioners,
    notebooks, plugins, pruned_pools, queues, recreate, references, renamed_workloads, replacement,
    scale_down, taints, temporary_drains, uninstall, versions, volume_claims,
};

/// A function that returns the steps of one topic.
type Producer = fn(&Rollout<'_>) -> Vec<Planned>;

/// All producers. Within a phase, steps keep the order of this table.
const PRODUCERS: &[Producer] = &[
    delivery::change_unmanaged_cluster,
    volume_claims::restore_claim_sizes,
    replacement::remove_pools_first,
    versions::upgrade_through_versions,
    gitops::release_old_controller,
    replacement::add_replacement_pools,
    replacement::revert_unsupported_changes,
    taints::keep_old_taints,
    pruned_pools::keep_pruned_pools,
    namespaces::keep_pruned_namespaces,
    data::warn_about_empty_claims,
    replacement::reduce_full_reservations,
    pruned_pools::drain_pruned_pools,
    delivery::build_tree,
    queues::stop_removed_queues,
    data::save_hub_database,
    namespaces::empty_namespaces,
    recreate::recreate_immutable_objects,
    scale_down::delete_removed_workloads,
    scale_down::delete_immutable_workloads,
    temporary_drains::drain_temporarily,
    scale_down::drain_shrinking_pools,
    hosts::drain_moved_hosts,
    hosts::prepare_hosts,
    cloud::apply_cloud_scripts,
    queues::delete_removed_queues,
    renamed_workloads::delete_renamed_batch_workloads,
    plugins::remove_old_plugins,
    plugins::remove_old_driver_installers,
    node_provisioners::drain_returned_pools,
    taints::remove_taints_by_hand,
    node_provisioners::await_drift,
    delivery::deploy_objects,
    node_provisioners::await_node_deletion,
    plugins::await_driver_installers,
    plugins::remove_dra_driver,
    temporary_drains::delete_nic_driver,
    plugins::restart_plugins,
    renamed_workloads::delete_renamed_long_running_workloads,
    delivery::verify_cluster,
    taints::add_taints_by_hand,
    node_provisioners::delete_drifted_nodes,
    versions::await_automatic_upgrades,
    references::move_references,
    taints::remove_old_taints,
    cleanup::remove_old_pools,
    cleanup::remove_hosts,
    cleanup::delete_removed_objects,
    device_classes::restore_extended_resources,
    uninstall::uninstall_releases_with_crds,
    cleanup::delete_cloud_resources,
    data::uninstall_hub,
    notebooks::delete_notebook_servers,
    data::delete_claims,
    namespaces::delete_namespaces,
];

/// The steps in order; none if no step requires an order.
pub(super) fn ordered_steps(rollout: &Rollout<'_>) -> Vec<Step> {
    let mut planned: Vec<Planned> = (PRODUCERS.iter())
        .flat_map(|produce| produce(rollout))
        .collect();
    if !planned.iter().any(|step| step.requires_order) {
        return Vec::new();
    }
    let order = Order::for_rollout(rollout);
    planned.sort_by_key(|step| order.position(step.phase));
    let steps = planned.into_iter().map(|planned| planned.step).collect();
    notebooks::insert_notebook_warnings(rollout, steps)
}
