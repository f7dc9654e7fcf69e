//! Labels that GKE sets on nodes.
//!
//! Source, read 2026-11-22: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/gce` (`gke-accelerator`,
//! `gke-nodepool`, `gke-os-distribution`); cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus
//! (`gke-gpu-sharing-strategy`, `gke-max-shared-clients-per-gpu`) and how-to/gpus-multi (`gke-gpu-partition-size`);
//! GoogleCloudPlatform/PerfKitBenchmarker's selectors for node pools (`gke-accelerator-count`,
//! `gke-gpu-driver-version`); concepts/spot-vms (`gke-spot`, `gke-provisioning`), and `machine-family` (from memory).

use gpuc_model::cloud::CloudLabel;
use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::{Capacity, DevicePlugin, OsFamily};

use super::gpudirect::rdma::PROFILE_LABEL;
use super::{accelerator, flex_start};

/// The label of flex-start nodes.
///
/// Source: GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool, 2026-11-28.
const FLEX_START: &str = "cloud.google.com/gke-flex-start";

/// Labels of a pool that gpuc creates.
pub(super) fn automatic_labels(pool: &Pool) -> Vec<CloudLabel> {
    let name = pool.name.value.clone();
    let mut labels = vec![
        CloudLabel::certain("cloud.google.com/gke-nodepool", name),
        // Older clusters have `cos` and `ubuntu`, newer ones the longer values.
        CloudLabel {
            key: "cloud.google.com/gke-os-distribution",
            values: match pool.os.value {
                OsFamily::ContainerOptimized => ["cos", "cos_containerd"],
                _ => ["ubuntu", "ubuntu_containerd"],
            }
            .map(str::to_owned)
            .into(),
            is_certain: false,
            is_prefix: false,
        },
    ];
    match pool.settings.capacity.value {
        Capacity::Spot(_) => labels.extend([
            CloudLabel::certain("cloud.google.com/gke-spot", "true"),
            CloudLabel::possible("cloud.google.com/gke-provisioning", "spot"),
        ]),
        Capacity::FlexStart(_) => labels.push(CloudLabel::absent("cloud.google.com/gke-spot")),
        _ => labels.extend([
            CloudLabel::absent("cloud.google.com/gke-spot"),
            CloudLabel::possible("cloud.google.com/gke-provisioning", "standard"),
        ]),
    }
    labels.push(match pool.flex_start() {
        Some(_) => CloudLabel::certain(FLEX_START, "true"),
        None => CloudLabel::absent(FLEX_START),
    });
    labels.push(if flex_start::is_queued(pool) {
        CloudLabel::possible(flex_start::QUEUED_KEY, "true")
    } else {
        CloudLabel::absent(flex_start::QUEUED_KEY)
    });
    labels.push(CloudLabel::absent("cloud.google.com/gke-preemptible"));
    let gpudirect = pool.settings.network.gpudirect.as_ref();
    if gpudirect.is_some_and(|it| it.value.is_managed()) {
        let (key, value) = PROFILE_LABEL;
        labels.push(CloudLabel::certain(key, value));
    }
    let machine = pool.machine_name.as_ref();
    if let Some((family, _)) = machine.and_then(|machine| machine.split_once('-')) {
        labels.push(CloudLabel::possible(
            "cloud.google.com/machine-family",
            family,
        ));
    }
    labels.extend(gpu_labels(pool));
    labels
}

fn gpu_labels(pool: &Pool) -> Vec<CloudLabel> {
    const ACCELERATOR: &str = "cloud.google.com/gke-accelerator";
    const COUNT: &str = "cloud.google.com/gke-accelerator-count";
    const STRATEGY: &str = "cloud.google.com/gke-gpu-sharing-strategy";
    const CLIENTS: &str = "cloud.google.com/gke-max-shared-clients-per-gpu";
    const PARTITION: &str = "cloud.google.com/gke-gpu-partition-size";
    let (Some(gpus), Some(machine)) = (pool.gpus.get(), pool.machine.get()) else {
        return Vec::new();
    };
    let Some(gpus) = gpus else {
        let keys = [ACCELERATOR, COUNT, STRATEGY, CLIENTS, PARTITION];
        return keys.map(CloudLabel::absent).into();
    };
    let mut labels = vec![CloudLabel::possible(COUNT, gpus.per_node.to_string())];
    if let Some(name) = accelerator::accelerator_name(machine, gpus) {
        labels.push(CloudLabel::certain(ACCELERATOR, name));
    }
    let Some(sharing) = pool.sharing.get() else {
        return labels;
    };
    // GKE sets these labels only for sharing that its own device plugin manages.
    let is_managed_by_gke = pool.plugin.value == DevicePlugin::Cloud;
    let (strategy, clients) = match sharing {
        Sharing::TimeSlicing { replicas, .. } if is_managed_by_gke => {
            ("time-sharing", Some(replicas.value))
        }
        Sharing::Mps { replicas, .. } if is_managed_by_gke => ("mps", Some(replicas.value)),
        _ => ("", None),
    };
    match clients {
        Some(clients) => labels.extend([
            CloudLabel::certain(STRATEGY, strategy),
            CloudLabel::certain(CLIENTS, clients.to_string()),
        ]),
        None => labels.extend([STRATEGY, CLIENTS].map(CloudLabel::absent)),
    }
    labels.push(match accelerator::partition_size(sharing) {
        Some(size) if is_managed_by_gke => CloudLabel::certain(PARTITION, size),
        _ => CloudLabel::absent(PARTITION),
    });
    labels
}
