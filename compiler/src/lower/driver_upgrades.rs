//! What becomes of running jobs when a driver's version changes, by who installs it.

use gpuc_schema::config::DriverOwner;
use serde_json::{Value, json};

use super::summary::names;
use crate::check::Checked;
use crate::model::Pool;

/// The GPU Operator's policy: one node after the other; pods that hold GPUs are evicted, as their budgets allow; pods
/// that nothing would make again, and such with data that lies on the node alone, are left to people.
///
/// These are the chart's own defaults; they stand here so that a newer chart does not change them silently. An object
/// of a single driver calls the deletion of pods otherwise than the values do.
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

/// What the README says of it.
pub(super) fn notes(cluster: &Checked<'_>) -> Vec<String> {
    let of = |owner: DriverOwner| -> Vec<&Pool> {
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
    let images = cluster.cloud.facts().managed_control_plane;
    let owners = owners.into_iter().map(|owner| (owner, of(owner)));
    owners
        .filter(|(_, pools)| !pools.is_empty())
        .map(|(owner, pools)| note(owner, &names(&pools), images))
        .collect()
}

fn note(owner: DriverOwner, pools: &str, images: bool) -> String {
    match owner {
        DriverOwner::Preinstalled if images => format!(
            "A new driver reaches {pools} with a new node image, on new nodes: jobs on the old ones are evicted as their \
             PodDisruptionBudgets allow, as many nodes at a time as the pool's upgrade settings say."
        ),
        DriverOwner::Operator => format!(
            "A new driver reaches {pools} one node after the other: the GPU Operator cordons the node and evicts the pods \
             that hold its GPUs, as their PodDisruptionBudgets allow. A pod with an emptyDir volume, or one that nothing \
             makes again, stays: the node then waits as upgrade-failed in the label nvidia.com/gpu-driver-upgrade-state. \
             When the job is over, set that label to upgrade-required. driver.upgradePolicy says otherwise."
        ),
        DriverOwner::DaemonSet => format!(
            "A node of {pools} gets its driver when it starts. A new version is for new nodes: drain the old ones with \
             kubectl drain, which heeds PodDisruptionBudgets, and replace them one after the other."
        ),
        DriverOwner::Preinstalled | DriverOwner::Host => format!(
            "The driver of {pools} changes on the host itself, and not while a job holds a GPU: first kubectl drain NODE \
             --ignore-daemonsets, which heeds PodDisruptionBudgets, and afterwards kubectl uncordon NODE."
        ),
    }
}
