//! Chooses the preferred devices of a container (GetPreferredAllocation).
//!
//! Full GPUs are chosen by their links, replicas and MIG devices by the load of their GPUs. No choice calls the
//! driver, and its cost is bounded for every request.

mod spread;
mod topology;

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Offer, Part, Share};
use crate::state::State;

/// Returns the `size` preferred devices: those that must be included, in their order, then the others in the order of
/// the resource. There are fewer if fewer are available, and unknown devices are ignored. Unhealthy devices are chosen
/// only if there are no others.
pub fn preferred(
    state: &State,
    offer: &Offer,
    available: &[String],
    must_include: &[String],
    size: usize,
) -> Vec<String> {
    let shares = offer.shares.iter().map(|share| (share.id.as_str(), share));
    let shares: BTreeMap<&str, &Share> = shares.collect();
    let mut included = BTreeSet::new();
    let mut taken: Vec<&Share> = must_include
        .iter()
        .filter_map(|id| shares.get(id.as_str()).copied())
        .filter(|share| included.insert(share.id.as_str()))
        .take(size)
        .collect();

    let available: BTreeSet<&str> = available.iter().map(String::as_str).collect();
    let free = |share: &&Share| {
        available.contains(share.id.as_str()) && !included.contains(share.id.as_str())
    };
    let (well, unhealthy): (Vec<&Share>, Vec<&Share>) = offer
        .shares
        .iter()
        .filter(free)
        .partition(|share| state.trouble(share).is_none());

    let whole = whole_gpus(state, offer);
    for candidates in [well, unhealthy] {
        let wanted = size - taken.len();
        let chosen = if candidates.len() <= wanted {
            candidates
        } else if whole {
            topology::choose(&state.inventory.topology, &taken, &candidates, wanted)
        } else {
            let users = users(offer, &available);
            let placement = state.config.placement;
            spread::choose(placement, &users, &taken, &candidates, wanted)
        };
        taken.extend(chosen);
    }
    taken.into_iter().map(|share| share.id.clone()).collect()
}

/// Whether every device is a full GPU.
fn whole_gpus(state: &State, offer: &Offer) -> bool {
    let slice = |share: &Share| matches!(state.inventory.part(&share.part), Some(Part::Slice(..)));
    offer.replicas == 1 && !offer.shares.iter().any(slice)
}

/// Returns the number of allocated devices of each GPU.
fn users(offer: &Offer, available: &BTreeSet<&str>) -> BTreeMap<u32, usize> {
    let mut users = BTreeMap::new();
    for share in &offer.shares {
        let taken = !available.contains(share.id.as_str());
        *users.entry(share.gpu).or_default() += usize::from(taken);
    }
    users
}

#[cfg(test)]
mod tests;
