//! The effect of a driver upgrade on running jobs, by the owner of the driver.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_schema::config::{CloudSection, DriverOwner};
use serde_json::{Value, json};

use super::summary::pool_names;

/// The GPU Operator's upgrade policy: one node at a time. Pods that hold GPUs are evicted as their PodDisruptionBudgets
/// allow; pods without a controller, and those with node-local data, are left to the user.
///
/// These are the chart's own defaults, explicit so that a newer chart does not change them silently. The key for the
/// deletion of pods differs between an NVIDIADriver object and the values.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml (`driver.upgradePolicy`) and
/// `crds/nvidia.com_nvidiadrivers.yaml` (`spec.upgradePolicy`);
/// <https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-driver-upgrades.html>, 2026-11-21.
pub(crate) fn operator_policy(pod_deletion: &str) -> Value {
    json!({
        "autoUpgrade": true,
        "maxParallelUpgrades": 1,
        "maxUnavailable": "25%",
        pod_deletion: {"force": false, "timeoutSeconds": 300, "deleteEmptyDir": false},
        "drain": {"enable": false},
    })
}

/// The notes for the generated README.
pub(super) fn notes(cluster: &Checked<'_>) -> Vec<String> {
    let pools_of = |owner: DriverOwner| -> Vec<&Pool> {
        let pools = cluster.pools.iter();
        pools
            .filter(|pool| pool.has_gpus() && pool.driver.value == owner)
            .collect()
    };
    let owners = [
        DriverOwner::Preinstalled,
        DriverOwner::Operator,
        DriverOwner::DaemonSet,
        DriverOwner::Host,
    ];
    let preinstalled = match (
        &cluster.config.cloud.value,
        cluster.cloud.facts().has_managed_control_plane,
    ) {
        (CloudSection::Existing(_), true) => PreinstalledBy::Provider,
        (_, true) => PreinstalledBy::Image,
        (_, false) => PreinstalledBy::Host,
    };
    let owners = owners.into_iter().map(|owner| (owner, pools_of(owner)));
    owners
        .filter(|(_, pools)| !pools.is_empty())
        .map(|(owner, pools)| upgrade_note(owner, &pool_names(&pools), preinstalled))
        .collect()
}

/// Where a driver comes from that gpuc does not install.
#[derive(Clone, Copy)]
enum PreinstalledBy {
    /// The provider of a cluster that gpuc does not create, by its own rules.
    Provider,
    /// The node image.
    Image,
    /// The owner of the host.
    Host,
}

fn upgrade_note(owner: DriverOwner, pools: &str, preinstalled: PreinstalledBy) -> String {
    match owner {
        DriverOwner::Preinstalled => preinstalled_note(pools, preinstalled),
        DriverOwner::Operator => format!(
            "The driver of {pools} is upgraded one node at a time: the GPU Operator cordons the node and evicts the \
             pods that hold its GPUs, as their PodDisruptionBudgets allow. A pod with an emptyDir volume, or without \
             a controller, is not evicted: the node's label nvidia.com/gpu-driver-upgrade-state then has the value \
             upgrade-failed. When the job has finished, set that label to upgrade-required. The value \
             driver.upgradePolicy changes this behavior."
        ),
        DriverOwner::DaemonSet => format!(
            "A node of {pools} gets its driver when it starts. A new version applies to new nodes only: drain the old \
             ones with kubectl drain, which respects PodDisruptionBudgets, and replace them one at a time."
        ),
        DriverOwner::Host => format!(
            "The driver of {pools} is changed on the hosts, one node at a time, while no process uses the GPUs: see \
             Changing the driver of hosts."
        ),
    }
}

fn preinstalled_note(pools: &str, by: PreinstalledBy) -> String {
    match by {
        PreinstalledBy::Provider => format!(
            "The owner of the nodes upgrades the driver of {pools}: drain each node first, so that no running job loses its GPUs."
        ),
        PreinstalledBy::Image => format!(
            "The driver of {pools} is upgraded with the node image, on new nodes: jobs on the old nodes are evicted \
             as their PodDisruptionBudgets allow, on as many nodes at a time as the pool's upgrade settings allow."
        ),
        PreinstalledBy::Host => format!(
            "The driver of {pools} is upgraded on the host itself, while no job uses a GPU: first run kubectl drain \
             NODE --ignore-daemonsets, which respects PodDisruptionBudgets, and afterwards kubectl uncordon NODE."
        ),
    }
}
