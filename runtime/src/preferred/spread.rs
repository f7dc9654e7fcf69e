//! Replicas and MIG devices: chooses the GPUs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gpuc_schema::node_config::SharePlacement;

use crate::device::KubeletDevice;

/// Chooses one device after the other. With `distributed`, it prefers the GPU of which the container has the fewest
/// devices so far, and then the one with the fewest users; with `packed`, the one with the most. Two
/// replicas of one GPU give a container no more of it than one, so that its own number counts first.
///
/// Ties are resolved by NUMA node, which should be one that the container already uses, and then by the GPU's
/// index.
pub(super) fn choose<'s>(
    placement: SharePlacement,
    users: &BTreeMap<u32, usize>,
    taken: &[&'s KubeletDevice],
    candidates: &[&'s KubeletDevice],
    wanted: usize,
) -> Vec<&'s KubeletDevice> {
    let mut open: BTreeMap<u32, VecDeque<usize>> = BTreeMap::new();
    for (index, device) in candidates.iter().enumerate() {
        open.entry(device.gpu).or_default().push_back(index);
    }
    let mut own_per_gpu: BTreeMap<u32, usize> = BTreeMap::new();
    let mut numas = BTreeSet::new();
    for device in taken {
        *own_per_gpu.entry(device.gpu).or_default() += 1;
        numas.insert(device.numa);
    }

    let mut chosen = Vec::with_capacity(wanted);
    while chosen.len() < wanted {
        let rank = |(gpu, indexes): (&u32, &VecDeque<usize>)| {
            let index = *indexes.front()?;
            let own_count = own_per_gpu.get(gpu).copied().unwrap_or_default();
            let users = users.get(gpu).copied().unwrap_or_default();
            let order = match placement {
                SharePlacement::Distributed => (own_count, users),
                SharePlacement::Packed => (usize::MAX - users - own_count, own_count),
            };
            Some((order, !numas.contains(&candidates[index].numa), *gpu))
        };
        let Some((.., gpu)) = open.iter().filter_map(rank).min() else {
            break;
        };
        let Some(index) = open.get_mut(&gpu).and_then(VecDeque::pop_front) else {
            break;
        };
        *own_per_gpu.entry(gpu).or_default() += 1;
        numas.insert(candidates[index].numa);
        chosen.push(index);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| candidates[index]).collect()
}
