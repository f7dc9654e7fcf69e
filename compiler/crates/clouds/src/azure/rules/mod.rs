//! Rules specific to AKS, one file each.

mod address_range;
mod boot_disk_size;
mod cluster_subnet_missing;
mod efa_unavailable;
mod entra_id;
mod identity_required;
mod local_accounts;
mod location_unreadable;
mod maintenance_days;
mod max_pods;
mod member_group;
mod members_without_entra;
mod mig_layout;
mod mig_size;
mod node_image_channel;
mod os_without_driver;
mod outbound_network;
mod placement_compact;
mod private_dns;
mod range_not_global;
mod ranges_unused;
mod reservation_identity;
mod resource_group_name;
mod resource_id;
mod secrets_key;
mod size_unlisted;
mod spot_deallocate;
mod spot_fixed;
mod spot_price;
mod spot_upgrade;
mod subnets_several;
mod subscription_unreadable;
mod system_pool_missing;
mod system_pool_small;
mod system_pool_unfit;
mod tag_unsupported;
mod taint_automatic;
mod taint_conflict;
mod taint_unsupported;
mod upgrade_settings;
mod zone_unknown;

use gpuc_model::check::Rule;
use gpuc_model::{MachineType, Pool};

use super::machines::{self, AzureSize};

/// The rules, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &subscription_unreadable::RULE,
    &resource_group_name::RULE,
    &location_unreadable::RULE,
    &zone_unknown::RULE,
    &system_pool_missing::RULE,
    &system_pool_unfit::RULE,
    &system_pool_small::RULE,
    &spot_fixed::RULE,
    &spot_deallocate::RULE,
    &spot_price::RULE,
    &spot_upgrade::RULE,
    &upgrade_settings::RULE,
    &mig_size::RULE,
    &mig_layout::RULE,
    &os_without_driver::RULE,
    &size_unlisted::RULE,
    &resource_id::RULE,
    &subnets_several::RULE,
    &cluster_subnet_missing::RULE,
    &placement_compact::RULE,
    &efa_unavailable::RULE,
    &taint_unsupported::RULE,
    &max_pods::RULE,
    &tag_unsupported::RULE,
    &maintenance_days::RULE,
    &boot_disk_size::RULE,
    &node_image_channel::RULE,
    &taint_automatic::RULE,
    &taint_conflict::RULE,
    &reservation_identity::RULE,
    &address_range::RULE,
    &range_not_global::RULE,
    &ranges_unused::RULE,
    &private_dns::RULE,
    &local_accounts::RULE,
    &entra_id::RULE,
    &member_group::RULE,
    &members_without_entra::RULE,
    &outbound_network::RULE,
    &identity_required::RULE,
    &secrets_key::RULE,
];

/// Catalog entry of a pool's VM size.
fn catalog_size(pool: &Pool) -> Option<&'static AzureSize> {
    match pool.machine.get()? {
        MachineType::Catalog(machine) => machines::find(machine.name),
        MachineType::Cpu(_) | MachineType::Host => None,
    }
}
