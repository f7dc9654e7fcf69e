//! Chooses the preferred devices of a container (GetPreferredAllocation).
//!
//! Full GPUs are chosen by their links, replicas and MIG devices by the load of their GPUs. No choice calls the
//! driver, and its cost is bounded for every request.

mod spread;
mod topology;

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{AdvertisedResource, KubeletDevice, PhysicalDevice};
use crate::state::State;

/// Returns the `size` preferred devices: those that must be included, in their order, then the others in the order of
/// the resource. There are fewer if fewer are available, and unknown devices are ignored. Unhealthy devices are chosen
/// only if there are no others.
pub fn preferred_devices(
    state: &State,
    advertised: &AdvertisedResource,
    available: &[String],
    must_include: &[String],
    size: usize,
) -> Vec<String> {
    let devices = advertised
        .devices
        .iter()
        .map(|device| (device.id.as_str(), device));
    let devices: BTreeMap<&str, &KubeletDevice> = devices.collect();
    let mut included = BTreeSet::new();
    let mut selected: Vec<&KubeletDevice> = must_include
        .iter()
        .filter_map(|id| devices.get(id.as_str()).copied())
        .filter(|device| included.insert(device.id.as_str()))
        .take(size)
        .collect();

    let available: BTreeSet<&str> = available.iter().map(String::as_str).collect();
    let free = |device: &&KubeletDevice| {
        available.contains(device.id.as_str()) && !included.contains(device.id.as_str())
    };
    let (healthy, unhealthy): (Vec<&KubeletDevice>, Vec<&KubeletDevice>) = advertised
        .devices
        .iter()
        .filter(free)
        .partition(|device| state.unhealthy_reason(device).is_none());

    let only_full_gpus = has_full_gpus_only(state, advertised);
    for candidates in [healthy, unhealthy] {
        let wanted = size - selected.len();
        let chosen = if candidates.len() <= wanted {
            candidates
        } else if only_full_gpus {
            topology::choose(&state.inventory.topology, &selected, &candidates, wanted)
        } else {
            let users = allocated_per_gpu(advertised, &available);
            let placement = state.config.placement;
            spread::choose(placement, &users, &selected, &candidates, wanted)
        };
        selected.extend(chosen);
    }
    selected
        .into_iter()
        .map(|device| device.id.clone())
        .collect()
}

/// Whether every device is a full GPU.
fn has_full_gpus_only(state: &State, advertised: &AdvertisedResource) -> bool {
    let is_mig_device = |device: &KubeletDevice| {
        matches!(
            state.inventory.physical_device(&device.physical_device),
            Some(PhysicalDevice::MigDevice(..))
        )
    };
    advertised.replicas == 1 && !advertised.devices.iter().any(is_mig_device)
}

/// Returns the number of allocated devices of each GPU.
fn allocated_per_gpu(
    advertised: &AdvertisedResource,
    available: &BTreeSet<&str>,
) -> BTreeMap<u32, usize> {
    let mut users = BTreeMap::new();
    for device in &advertised.devices {
        let is_taken = !available.contains(device.id.as_str());
        *users.entry(device.gpu).or_default() += usize::from(is_taken);
    }
    users
}

#[cfg(test)]
mod tests;
