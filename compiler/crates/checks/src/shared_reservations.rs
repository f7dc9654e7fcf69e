//! Capacity reservations that several pools share.

use gpuc_schema::Spanned;
use gpuc_schema::config::Capacity;

use gpuc_model::{Cluster, NodeRange, Pool};

/// Pools that share a reservation of known size.
pub(super) struct SharedReservation<'a> {
    /// The reservation's id, as the first pool has it.
    pub(super) id: &'a str,
    /// The number of machines in the reservation: the maximum of the pools' values.
    pub(super) count: Spanned<u32>,
    /// The pools, at least two, each with its number of nodes.
    pub(super) pools: Vec<(&'a Pool, NodeRange)>,
}

impl SharedReservation<'_> {
    /// The sum of a node count over all pools.
    pub(super) fn sum_nodes(&self, nodes_of: impl Fn(&NodeRange) -> u32) -> u64 {
        self.pools
            .iter()
            .map(|(_, nodes)| u64::from(nodes_of(nodes)))
            .sum()
    }

    /// The names of all pools except one.
    pub(super) fn other_pool_names(&self, excluded: &Pool) -> String {
        let names: Vec<String> = self
            .pools
            .iter()
            .map(|(pool, _)| &pool.name)
            .filter(|name| name.value != excluded.name.value)
            .map(|name| format!("`{name}`"))
            .collect();
        names.join(", ")
    }
}

/// The reservations that several pools share, if at least one of these pools sets the size.
///
/// One name may refer to several reservations: an Azure capacity reservation group has one for each VM size and zone,
/// and a Google Cloud project may have one of the same name in each zone. Therefore pools share a reservation only if
/// they have the same machine type and zones. Another rule reports a pool that exceeds the reservation alone.
pub(super) fn find_shared_reservations(cluster: &Cluster) -> Vec<SharedReservation<'_>> {
    let mut shared_reservations: Vec<SharedReservation<'_>> = Vec::new();
    let pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    let mut rest: Vec<(&Pool, &str, NodeRange)> = pools
        .filter_map(|pool| Some((pool, reservation_id(pool)?, *pool.nodes.get()?)))
        .collect();
    while let Some((first, id, _)) = rest.first().copied() {
        let shares_reservation = |it: &(&Pool, &str, NodeRange)| {
            it.1.eq_ignore_ascii_case(id) && machine_and_zones(it.0) == machine_and_zones(first)
        };
        let (sharing, others): (Vec<(&Pool, &str, NodeRange)>, Vec<_>) =
            rest.into_iter().partition(shares_reservation);
        rest = others;
        let counts = sharing
            .iter()
            .filter_map(|(pool, ..)| reservation_size(pool));
        let Some(count) = counts.max_by_key(|count| count.value) else {
            continue;
        };
        let exceeds_alone = |(pool, _, nodes): &(&Pool, &str, NodeRange)| {
            self::reservation_size(pool).is_some_and(|count| nodes.max > count.value)
        };
        if sharing.len() > 1 && !sharing.iter().any(exceeds_alone) {
            shared_reservations.push(SharedReservation {
                id,
                count,
                pools: sharing
                    .iter()
                    .map(|(pool, _, nodes)| (*pool, *nodes))
                    .collect(),
            });
        }
    }
    shared_reservations
}

fn reservation_id(pool: &Pool) -> Option<&str> {
    match &pool.settings.capacity.value {
        Capacity::Reservation(it) => Some(&it.id.value),
        Capacity::CapacityBlock(it) => Some(&it.id.value),
        Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => None,
    }
}

fn reservation_size(pool: &Pool) -> Option<Spanned<u32>> {
    match &pool.settings.capacity.value {
        Capacity::Reservation(it) => it.count,
        Capacity::CapacityBlock(it) => Some(it.count),
        Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => None,
    }
}

/// The machine type and zones by which reservations of one name differ.
fn machine_and_zones(pool: &Pool) -> (Option<&str>, Vec<&str>) {
    let machine = pool.machine_name.as_ref();
    let zones = pool.settings.zones.iter();
    let mut zones: Vec<&str> = zones.map(|zone| zone.value.as_str()).collect();
    zones.sort_unstable();
    (machine.map(|machine| machine.value.as_str()), zones)
}
