//! Which of the free devices a container should get: the answer to the kubelet's question before it decides.
//!
//! Whole GPUs are chosen for how they are joined, replicas and slices for how busy their GPUs are. No answer costs a
//! question to the driver, and the work for each is bounded, whatever is asked.

mod joined;
mod spread;

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Offer, Part, Share};
use crate::state::State;

/// The `size` devices that the kubelet should hand out: those that it must include, in its order, then the others in
/// that of the offer. There are fewer where fewer are available, and never other than known ones. Devices that are not
/// well are taken where there are no others.
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
    let (well, unwell): (Vec<&Share>, Vec<&Share>) = offer
        .shares
        .iter()
        .filter(free)
        .partition(|share| state.trouble(share).is_none());

    let whole = whole_gpus(state, offer);
    for candidates in [well, unwell] {
        let wanted = size - taken.len();
        let chosen = if candidates.len() <= wanted {
            candidates
        } else if whole {
            joined::choose(&state.inventory.topology, &taken, &candidates, wanted)
        } else {
            let users = users(offer, &available);
            let placement = state.config.placement;
            spread::choose(placement, &users, &taken, &candidates, wanted)
        };
        taken.extend(chosen);
    }
    taken.into_iter().map(|share| share.id.clone()).collect()
}

/// Whether each share is a GPU of its own.
fn whole_gpus(state: &State, offer: &Offer) -> bool {
    let slice = |share: &Share| matches!(state.inventory.part(&share.part), Some(Part::Slice(..)));
    offer.replicas == 1 && !offer.shares.iter().any(slice)
}

/// How many shares of each GPU are with containers.
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
