//! The connection of a container to the MPS control daemon.

use std::collections::BTreeMap;

use gpuc_schema::node_config::NodeSharing;

use super::{ContainerAllocation, Mount};
use crate::device::{AdvertisedResource, KubeletDevice};
use crate::state::State;

/// Adds the daemon's pipes and shared memory, and the limits of threads and memory.
///
/// Paths and the first variable are those of NVIDIA/k8s-device-plugin v0.20.0. The limits are those of one replica
/// times the number of replicas. If a container may have several, they are the only limits: see [`crate::mps::limits`].
pub(super) fn add_mps_settings(
    state: &State,
    advertised: &AdvertisedResource,
    devices: &[&KubeletDevice],
    grant: &mut ContainerAllocation,
) {
    let NodeSharing::Mps { root, .. } = &state.config.sharing else {
        return;
    };
    let pipe = format!("/mps/{}/pipe", advertised.resource);
    grant.set_env("CUDA_MPS_PIPE_DIRECTORY", pipe.clone());
    let mount = |host_path: String, container_path: String| Mount {
        container_path,
        host_path,
        read_only: false,
    };
    let root = root.trim_end_matches('/');
    let host_pipe = format!("{root}/{}/pipe", advertised.resource);
    grant.mounts.push(mount(host_pipe, pipe));
    let memory = mount(format!("{root}/shm"), "/dev/shm".to_owned());
    grant.mounts.push(memory);
    if advertised.replicas > 1 {
        set_client_limits(state, advertised.replicas, devices, grant);
    }
}

/// Sets the limits. A container with replicas of several GPUs gets the minimum of all: the percentage applies to all
/// GPUs, and the order in which CUDA numbers them is unknown here.
fn set_client_limits(
    state: &State,
    replicas: u32,
    devices: &[&KubeletDevice],
    grant: &mut ContainerAllocation,
) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for device in devices {
        *counts.entry(&device.physical_device).or_default() += 1;
    }
    let replicas = u64::from(replicas);
    let min_replicas = counts.values().min().copied().unwrap_or(1);
    let percentage = (100 * min_replicas / replicas).clamp(1, 100);
    grant.set_env("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percentage.to_string());
    let memory = |(uuid, count): (&&str, &u64)| {
        let bytes = state.inventory.physical_device(uuid)?.gpu().memory_bytes?;
        Some((bytes >> 20) * count / replicas)
    };
    let memories: Option<Vec<_>> = counts.iter().map(memory).collect();
    if let Some(min) = memories.and_then(|all| all.into_iter().min()) {
        let limits: Vec<_> = (0..counts.len())
            .map(|ordinal| format!("{ordinal}={min}M"))
            .collect();
        grant.set_env("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits.join(","));
    }
}
