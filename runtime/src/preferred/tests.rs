//! Tests of the preferred devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpuc_schema::node_config::{NodeSharing, SharePlacement};
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::preferred_devices;
use crate::config;
use crate::device::testing::{inventory, mig};
use crate::device::{AdvertisedResource, Inventory, Topology, advertised_resources};
use crate::host::HostFiles;
use crate::nvml::{CommonAncestor, Link, NvmlError, NvmlErrorKind};
use crate::state::State;

const CONFIG: &str = r#"{
    "apiVersion": "node.gpuc.dev/v1alpha1",
    "kind": "NodeConfig",
    "cluster": "demo",
    "pool": "train",
    "expected": {"model": "h100-sxm5-80gb", "count": 8},
    "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
    "devices": "environmentVariable",
    "sharing": "exclusive",
    "resources": {"nvidia.com/gpu": 8}
}"#;

fn state(inventory: Inventory, sharing: NodeSharing) -> State {
    let mut config = config::parse(CONFIG).expect("the configuration is valid");
    config.sharing = sharing;
    State {
        advertised_resources: advertised_resources(&inventory, &config.sharing),
        config: Arc::new(config),
        inventory: Arc::new(inventory),
        files: Arc::new(HostFiles::default()),
        unhealthy: BTreeMap::new(),
    }
}

fn full_gpu_state(words: &str) -> State {
    state(inventory(words), NodeSharing::Exclusive)
}

fn shared_state(words: &str, replicas: u32, placement: SharePlacement) -> State {
    let sharing = NodeSharing::TimeSlicing {
        replicas,
        rename: false,
        refuse_more_than_one: false,
    };
    let mut state = state(inventory(words), sharing);
    let mut config = (*state.config).clone();
    config.placement = placement;
    state.config = Arc::new(config);
    state
}

fn ids(resource: &AdvertisedResource, positions: &[usize]) -> Vec<String> {
    positions
        .iter()
        .map(|position| resource.devices[*position].id.clone())
        .collect()
}

/// Returns the preferred devices by their positions in the first resource.
fn preferred_positions(
    state: &State,
    available: &[usize],
    must_include: &[usize],
    size: usize,
) -> Vec<usize> {
    let resource = &state.advertised_resources[0];
    let chosen = preferred_devices(
        state,
        resource,
        &ids(resource, available),
        &ids(resource, must_include),
        size,
    );
    let position = |id: &String| resource.devices.iter().position(|share| share.id == *id);
    chosen
        .iter()
        .map(|id| position(id).expect("a known device"))
        .collect()
}

const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The board of a DGX-1: each half is a ring with one or two links per pair, and four pairs connect the halves.
#[test]
fn best_linked_gpus_are_chosen() {
    let v100 = full_gpu_state("v100-sxm2-16gbx8");
    // 0-3, 1-2, 2-3 and the same pairs of the other half have two links. Of these, 2-3 and 6-7 share a PCI switch.
    assert_eq!(preferred_positions(&v100, &ALL, &[], 2), [2, 3]);
    assert_eq!(preferred_positions(&v100, &ALL, &[], 4), [0, 1, 2, 3]);
    assert_eq!(preferred_positions(&v100, &[0, 1, 5, 6, 7], &[], 2), [6, 7]);
    assert_eq!(preferred_positions(&v100, &[0, 1, 4], &[], 2), [0, 4]);
    assert_eq!(preferred_positions(&v100, &ALL, &[6], 2), [6, 7]);
    assert_eq!(preferred_positions(&v100, &ALL, &[6, 1], 4), [6, 1, 5, 7]);
}

#[test]
fn switched_gpus_stay_on_one_processor() {
    let h100 = full_gpu_state("h100x8");
    assert_eq!(preferred_positions(&h100, &ALL, &[], 4), [0, 1, 2, 3]);
    assert_eq!(
        preferred_positions(&h100, &[1, 2, 3, 4, 5, 6, 7], &[], 4),
        [4, 5, 6, 7]
    );
    assert_eq!(preferred_positions(&h100, &[1, 2, 5, 6], &[], 2), [1, 2]);
    assert_eq!(preferred_positions(&h100, &[1, 4, 5], &[], 2), [4, 5]);
}

/// The remaining GPUs should serve the next request well.
#[test]
fn single_gpu_does_not_split_a_pair() {
    let l4 = full_gpu_state("l4x4");
    assert_eq!(preferred_positions(&l4, &[0, 1, 2], &[], 1), [2]);
    assert_eq!(preferred_positions(&l4, &[1, 2, 3], &[], 1), [1]);
    assert_eq!(preferred_positions(&l4, &[0, 1, 2, 3], &[], 1), [0]);
}

#[test]
fn unknown_topology_uses_numa_nodes() {
    let mut machine = inventory("l4x4");
    machine.topology = Topology::default();
    let state = state(machine, NodeSharing::Exclusive);
    assert_eq!(preferred_positions(&state, &[1, 2, 3], &[], 2), [2, 3]);
}

#[test]
fn request_for_all_returns_all() {
    let h100 = full_gpu_state("h100x8");
    assert_eq!(preferred_positions(&h100, &ALL, &[], 8), ALL);
    assert_eq!(preferred_positions(&h100, &[5, 2], &[], 8), [2, 5]);
    assert_eq!(preferred_positions(&h100, &[5, 2], &[5], 8), [5, 2]);
    assert_eq!(preferred_positions(&h100, &[], &[], 3), [0; 0]);
    assert_eq!(preferred_positions(&h100, &ALL, &[], 0), [0; 0]);
}

#[test]
fn unknown_ids_are_skipped() {
    let h100 = full_gpu_state("h100x8");
    let resource = &h100.advertised_resources[0];
    let ids = vec!["GPU-unknown".to_owned(), resource.devices[4].id.clone()];
    let repeated = [ids.clone(), ids.clone()].concat();
    assert_eq!(
        preferred_devices(&h100, resource, &repeated, &ids, 2),
        ids[1..]
    );
    assert_eq!(
        preferred_devices(&h100, resource, &repeated, &repeated, usize::MAX),
        ids[1..]
    );
    assert_eq!(preferred_positions(&h100, &[1], &[2, 3, 4], 2), [2, 3]);
}

#[test]
fn unhealthy_devices_are_last() {
    let mut v100 = full_gpu_state("v100-sxm2-16gbx8");
    for position in [0, 1] {
        let id = v100.advertised_resources[0].devices[position]
            .physical_device
            .clone();
        v100.unhealthy.insert(id, "XID 79".to_owned());
    }
    assert_eq!(preferred_positions(&v100, &[0, 1, 2, 4, 5], &[], 2), [4, 5]);
    assert_eq!(
        preferred_positions(&v100, &[0, 1, 2], &[], 2),
        [2, 1],
        "1 and 2 have two links, 0 and 2 have one"
    );
    assert_eq!(preferred_positions(&v100, &[0, 1, 2], &[0], 2), [0, 2]);
    let mut l4 = shared_state("l4x2", 2, SharePlacement::Distributed);
    let id = l4.advertised_resources[0].devices[0]
        .physical_device
        .clone();
    l4.unhealthy.insert(id, "XID 79".to_owned());
    assert_eq!(preferred_positions(&l4, &[0, 1, 2, 3], &[], 2), [2, 3]);
}

/// NVIDIA's plugin fails for every pod if a GPU is lost (NVIDIA/k8s-device-plugin#2038).
#[test]
fn lost_gpu_does_not_affect_the_choice() {
    let mut machine = inventory("v100-sxm2-16gbx8");
    machine.gpus[1] = crate::device::Gpu::Unresponsive {
        index: 1,
        last_info: None,
        error: NvmlError {
            kind: NvmlErrorKind::GpuLost,
            message: String::new(),
        },
    };
    let state = state(machine, NodeSharing::Exclusive);
    assert_eq!(preferred_positions(&state, &[0, 2, 4], &[], 2), [0, 4]);
    assert_eq!(preferred_positions(&state, &ALL, &[], 8), ALL);
}

#[test]
fn replicas_are_distributed() {
    // Four GPUs with four replicas each.
    let l4 = shared_state("l4x4", 4, SharePlacement::Distributed);
    let all: Vec<_> = (0..16).collect();
    assert_eq!(preferred_positions(&l4, &all, &[], 1), [0]);
    assert_eq!(
        preferred_positions(&l4, &all[1..], &[], 1),
        [4],
        "a container uses GPU 0"
    );
    assert_eq!(preferred_positions(&l4, &all, &[], 3), [0, 4, 8]);
    assert_eq!(
        preferred_positions(&l4, &all, &[8], 2),
        [8, 12],
        "both are on one NUMA node"
    );
    assert_eq!(preferred_positions(&l4, &all, &[], 6), [0, 1, 4, 5, 8, 12]);
    // A container gets different GPUs, even if the second one has more users.
    assert_eq!(preferred_positions(&l4, &[0, 1, 2, 3, 7], &[], 2), [0, 7]);
}

#[test]
fn replicas_are_packed() {
    let l4 = shared_state("l4x4", 4, SharePlacement::Packed);
    let all: Vec<_> = (0..16).collect();
    assert_eq!(preferred_positions(&l4, &all, &[], 2), [0, 1]);
    assert_eq!(
        preferred_positions(&l4, &[0, 1, 2, 3, 4, 5, 9, 10, 11], &[], 1),
        [4],
        "two containers use GPU 1"
    );
    assert_eq!(
        preferred_positions(&l4, &[0, 1, 2, 3, 4, 9, 10, 11], &[], 3),
        [4, 9, 10]
    );
    assert_eq!(preferred_positions(&l4, &all, &[13], 3), [13, 12, 14]);
}

#[test]
fn mig_devices_are_from_different_gpus() {
    let machine = inventory("h100x2:mig=1g.10gb*7");
    let state = state(machine, mig("single", vec![]));
    let all: Vec<_> = (0..14).collect();
    assert_eq!(preferred_positions(&state, &all, &[], 2), [0, 7]);
    assert_eq!(preferred_positions(&state, &all[3..], &[], 1), [7]);
    assert_eq!(preferred_positions(&state, &all[..7], &[], 2), [0, 1]);
}

/// NVIDIA's plugin needs 36 s to choose three of 16 GPUs (measured with v0.20.0). The limit only detects a hang.
#[test]
fn large_nodes_are_fast() {
    let start = Instant::now();
    let h100 = full_gpu_state("h100x16");
    let all: Vec<_> = (0..16).collect();
    for size in 1..=16 {
        assert_eq!(preferred_positions(&h100, &all, &[], size).len(), size);
    }
    let many = full_gpu_state("h100x64");
    let all: Vec<_> = (0..64).collect();
    assert_eq!(preferred_positions(&many, &all, &[40], 32).len(), 32);
    let replicas = shared_state("l4x64", 48, SharePlacement::Distributed);
    let all: Vec<_> = (0..64 * 48).collect();
    assert_eq!(
        preferred_positions(&replicas, &all, &[], 2_000).len(),
        2_000
    );
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// With more than 16 GPUs, the search is not exhaustive, but it finds the GPUs of a board.
#[test]
fn greedy_search_finds_boards() {
    let v100 = full_gpu_state("v100-sxm2-16gbx24");
    let available: Vec<_> = (3..24).collect();
    let four = preferred_positions(&v100, &available, &[], 4);
    let best = preferred_positions(&full_gpu_state("v100-sxm2-16gbx8"), &ALL, &[], 4);
    let score =
        |positions: &[usize], state: &State| total_score(&state.inventory.topology, positions);
    let (found, known) = (
        score(&four, &v100),
        score(&best, &full_gpu_state("v100-sxm2-16gbx8")),
    );
    assert_eq!(found / 100, known / 100, "{four:?}");
}

/// The sum of the scores of all pairs.
fn total_score(topology: &Topology, positions: &[usize]) -> u64 {
    let index = |position: usize| u32::try_from(position).expect("few GPUs");
    let mut sum = 0;
    for (at, one) in positions.iter().enumerate() {
        for other in &positions[at + 1..] {
            sum += topology.link(index(*one), index(*other)).score();
        }
    }
    sum
}

/// All sets of this size.
fn subsets(from: &[usize], size: usize) -> Vec<Vec<usize>> {
    let Some((first, remaining)) = from.split_first() else {
        return if size == 0 { vec![vec![]] } else { vec![] };
    };
    let mut sets = subsets(remaining, size);
    if size > 0 {
        for mut set in self::subsets(remaining, size - 1) {
            set.insert(0, *first);
            sets.push(set);
        }
    }
    sets
}

const MEETS: [CommonAncestor; 6] = [
    CommonAncestor::System,
    CommonAncestor::Processor,
    CommonAncestor::HostBridge,
    CommonAncestor::Switches,
    CommonAncestor::Switch,
    CommonAncestor::Board,
];

/// A node with GPUs and arbitrary links, some of them unknown.
fn any_node() -> impl Strategy<Value = State> {
    let link = prop::option::weighted(0.9, (0..MEETS.len(), 0..3_u32));
    (1..9_u32, prop::collection::vec(link, 28)).prop_map(|(count, links)| {
        let mut machine = inventory(&format!("l4x{count}"));
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let known = pairs.zip(links).filter_map(|(pair, link)| {
            let (meet, nvlinks) = link?;
            let meet = MEETS[meet];
            Some((pair, Link { meet, nvlinks }))
        });
        machine.topology = Topology::new(known);
        state(machine, NodeSharing::Exclusive)
    })
}

/// A node with replicas and a placement setting.
fn any_sharing() -> impl Strategy<Value = State> {
    let placement = prop_oneof![
        Just(SharePlacement::Distributed),
        Just(SharePlacement::Packed)
    ];
    (1..5_u32, 2..5_u32, placement).prop_map(|(count, replicas, placement)| {
        shared_state(&format!("l4x{count}"), replicas, placement)
    })
}

/// A node with up to two unhealthy GPUs, the available devices, the devices to include, and the requested number.
fn any_request(
    node: impl Strategy<Value = State>,
) -> impl Strategy<Value = (State, Vec<usize>, Vec<usize>, usize)> {
    node.prop_flat_map(|state| {
        let all: Vec<usize> = (0..state.advertised_resources[0].devices.len()).collect();
        let count = all.len();
        (
            Just(state),
            subsequence(all.clone(), 0..=count),
            subsequence(all, 0..=count),
        )
    })
    .prop_flat_map(|(mut state, available, unhealthy)| {
        for position in unhealthy.iter().take(2) {
            let id = state.advertised_resources[0].devices[*position]
                .physical_device
                .clone();
            state.unhealthy.insert(id, "XID 79".to_owned());
        }
        let count = available.len();
        let must = subsequence(available.clone(), 0..=count);
        (
            Just(state),
            Just(available).prop_shuffle(),
            must.prop_shuffle(),
            0..count + 2,
        )
    })
}

proptest! {
    #[test]
    fn any_result_has_the_requested_size(
        (state, available, must, size) in prop_oneof![
            any_request(any_node()).boxed(),
            any_request(any_sharing()).boxed(),
        ],
    ) {
        let chosen = preferred_positions(&state, &available, &must, size);
        let set: BTreeSet<_> = chosen.iter().copied().collect();
        prop_assert_eq!(set.len(), chosen.len());
        prop_assert_eq!(chosen.len(), size.min(available.len()));
        prop_assert!(set.is_subset(&available.iter().copied().collect()));
        let first = must.len().min(size);
        prop_assert_eq!(&chosen[..first], &must[..first]);
        let mut sorted = available.clone();
        sorted.sort_unstable();
        prop_assert_eq!(preferred_positions(&state, &sorted, &must, size), &*chosen);

        // An unhealthy device is chosen only if all healthy devices are chosen.
        let shares = &state.advertised_resources[0].devices;
        let is_healthy = |position: &usize| state.unhealthy_reason(&shares[*position]).is_none();
        if chosen.iter().skip(first).any(|position| !is_healthy(position)) {
            prop_assert!(available.iter().filter(|it| is_healthy(it)).all(|it| set.contains(it)));
        }
    }

    #[test]
    fn no_set_has_a_better_score(
        (state, available, must, size) in any_request(any_node()),
    ) {
        let mut state = state;
        state.unhealthy.clear();
        let topology = &state.inventory.topology;
        let chosen = preferred_positions(&state, &available, &must, size);
        let must: BTreeSet<_> = must.into_iter().take(size).collect();
        let mut others = subsets(&available, size);
        others.retain(|set| must.iter().all(|position| set.contains(position)));
        let best = others.iter().map(|set| total_score(topology, set)).max();
        prop_assert!(best.is_none_or(|best| total_score(topology, &chosen) == best));

        // No other set with this score and the same number of NUMA nodes leaves GPUs with a better score.
        let numas = |set: &[usize]| {
            let numas: BTreeSet<_> = set.iter().map(|it| state.advertised_resources[0].devices[*it].numa).collect();
            numas.len()
        };
        let remaining = |set: &[usize]| {
            let remaining: Vec<_> = available.iter().copied().filter(|it| !set.contains(it)).collect();
            total_score(topology, &remaining)
        };
        for other in others.iter().filter(|set| Some(total_score(topology, set)) == best) {
            prop_assert!(numas(&chosen) <= numas(other));
            if numas(&chosen) == numas(other) {
                prop_assert!(remaining(&chosen) >= remaining(other), "{:?} {:?}", chosen, other);
            }
        }
    }

    #[test]
    fn replicas_are_on_different_gpus(
        (state, available, _, size) in any_request(any_sharing()),
    ) {
        let mut state = state;
        state.unhealthy.clear();
        let gpu = |position: &usize| state.advertised_resources[0].devices[*position].gpu;
        let chosen = preferred_positions(&state, &available, &[], size);
        let gpus: BTreeSet<_> = chosen.iter().map(gpu).collect();
        let free: BTreeSet<_> = available.iter().map(gpu).collect();
        match state.config.placement {
            SharePlacement::Distributed => prop_assert_eq!(gpus.len(), chosen.len().min(free.len())),
            SharePlacement::Packed => {
                // At most one of the GPUs still has available replicas.
                let open = |gpu_of: &&u32| {
                    available.iter().any(|it| gpu(it) == **gpu_of && !chosen.contains(it))
                };
                prop_assert!(gpus.iter().filter(open).count() <= 1);
            }
        }
    }
}
