//! GPU metrics under the names of NVIDIA's dcgm-exporter.
//!
//! Names, units, types and labels are those of dcgm-exporter 4.5.3-4.8.2 (`etc/default-counters.csv` and
//! `internal/pkg/rendermetrics`, 2026-08), so that dashboards and alerts made for it work. Two things differ, so that a
//! sum over all series is a sum over all GPUs:
//!
//! - A value of a full GPU is written once. dcgm-exporter names one of several pods that share a GPU, and which one
//!   changes (NVIDIA/dcgm-exporter#307, #340), or with `KUBERNETES_VIRTUAL_GPUS` repeats the value for every replica
//!   (#432, #582). Here, a series has the labels of a pod only if exactly one container uses the device. For shared
//!   devices, `gpuc_container_shares` lists the containers; join it on `UUID`.
//! - dcgm-exporter repeats the values of a full GPU for each of its MIG devices. Here, only memory is reported by MIG
//!   device, and then not for the GPU.

use std::collections::{BTreeMap, BTreeSet};

use super::PodDevices;
use super::family::{Family, Labels, MetricKind, Number};
use super::sampler::Samples;
use crate::device::{Gpu, Inventory};
use crate::health::xid::find_xid;
use crate::nvml::{GpuInfo, MigDeviceInfo, Sample};
use Number::{Float, Integer};

/// A metric of a full GPU.
struct Field {
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    read: fn(&Sample) -> Option<Number>,
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    read: fn(&Sample) -> Option<Number>,
) -> Field {
    let kind = MetricKind::Gauge;
    Field {
        name,
        help,
        kind,
        read,
    }
}

const fn counter(
    name: &'static str,
    help: &'static str,
    read: fn(&Sample) -> Option<Number>,
) -> Field {
    let kind = MetricKind::DcgmCounter;
    Field {
        name,
        help,
        kind,
        read,
    }
}

fn to_integer(number: Option<u32>) -> Option<Number> {
    number.map(|number| Integer(number.into()))
}

const USED: &str = "DCGM_FI_DEV_FB_USED";
const FREE: &str = "DCGM_FI_DEV_FB_FREE";

#[rustfmt::skip]
const FIELDS: &[Field] = &[
    gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", |it| to_integer(it.sm_clock)),
    gauge("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", |it| to_integer(it.memory_clock)),
    gauge("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature (in C).", |it| to_integer(it.memory_temperature)),
    gauge("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", |it| to_integer(it.temperature)),
    gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", |it| it.power.map(Float)),
    counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Total energy consumption since boot (in mJ).", |it| it.energy.map(Integer)),
    counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries.", |it| it.pcie_replays.map(Integer)),
    gauge("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", |it| to_integer(it.utilization)),
    gauge("DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %).", |it| to_integer(it.copy_utilization)),
    gauge("DCGM_FI_DEV_ENC_UTIL", "Encoder utilization (in %).", |it| to_integer(it.encoder_utilization)),
    gauge("DCGM_FI_DEV_DEC_UTIL", "Decoder utilization (in %).", |it| to_integer(it.decoder_utilization)),
    gauge(FREE, "Framebuffer memory free (in MiB).", |it| it.memory_free.map(Integer)),
    gauge(USED, "Framebuffer memory used (in MiB).", |it| it.memory_used.map(Integer)),
    gauge("DCGM_FI_DEV_FB_RESERVED", "Framebuffer memory reserved (in MiB).", |it| it.memory_reserved.map(Integer)),
    counter("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "Total number of single-bit persistent ECC errors.", |it| it.single_bit_errors.map(Integer)),
    counter("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "Total number of double-bit persistent ECC errors.", |it| it.double_bit_errors.map(Integer)),
    counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "Number of remapped rows for uncorrectable errors.", |it| it.uncorrectable_remapped_rows.map(Integer)),
    counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "Number of remapped rows for correctable errors.", |it| it.correctable_remapped_rows.map(Integer)),
    gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "Whether remapping of rows has failed.", |it| it.remap_failure.map(|it| Integer(it.into()))),
];

/// The inputs of the GPU metrics.
pub(super) struct GpuMetricInputs<'s> {
    pub(super) inventory: &'s Inventory,
    pub(super) samples: &'s Samples,
    pub(super) pods: &'s [PodDevices],
    /// The node's name.
    pub(super) hostname: &'s str,
    /// Returns the last Xid of the GPU with this UUID.
    pub(super) last_xid: &'s dyn Fn(&str) -> Option<u64>,
}

/// Returns the metrics of all GPUs that were identified. A GPU that was not measured has only its last Xid.
pub(super) fn families(scene: &GpuMetricInputs) -> Vec<Family> {
    let users = containers_by_device(scene.pods);
    let mut families: Vec<Family> = FIELDS
        .iter()
        .map(|field| Family {
            name: field.name,
            help: field.help,
            kind: field.kind,
            series: series(scene, field, &users),
        })
        .collect();
    let infos = scene.inventory.gpus.iter().filter_map(Gpu::info);
    let last_xid = |info: &GpuInfo| {
        let last = (scene.last_xid)(&info.uuid);
        let mut labels = labels(scene, info, None, &users);
        let meaning = match last {
            None => "No Error",
            Some(last) => find_xid(last).map_or("Unknown Error", |xid| xid.meaning),
        };
        let last = last.unwrap_or(0);
        labels.push(("err_code", last.to_string()));
        labels.push(("err_msg", meaning.to_owned()));
        (labels, Integer(last))
    };
    families.push(Family {
        name: "DCGM_FI_DEV_XID_ERRORS",
        help: "Value of the last XID error encountered.",
        kind: MetricKind::Gauge,
        series: infos.map(last_xid).collect(),
    });
    families
}

/// Returns how many replicas of a GPU or MIG device each container holds.
pub(super) fn replica_counts(inventory: &Inventory, pods: &[PodDevices]) -> Family {
    let mut counts: BTreeMap<Labels, u64> = BTreeMap::new();
    for pod in pods {
        for id in &pod.device_ids {
            let Some(physical_device) = inventory.physical_device(physical_device_id(id)) else {
                continue;
            };
            let labels = vec![
                ("namespace", pod.namespace.clone()),
                ("pod", pod.pod.clone()),
                ("container", pod.container.clone()),
                ("resource", pod.resource.clone()),
                ("device", physical_device.uuid().to_owned()),
                ("UUID", physical_device.gpu().uuid.clone()),
            ];
            *counts.entry(labels).or_default() += 1;
        }
    }
    Family {
        name: "gpuc_container_shares",
        help: "Number of replicas of a GPU or MIG device that a container holds.",
        kind: MetricKind::Gauge,
        series: counts
            .into_iter()
            .map(|(labels, count)| (labels, Integer(count)))
            .collect(),
    }
}

/// The containers that use a GPU or MIG device, by its UUID.
type ContainersByDevice<'p> = BTreeMap<&'p str, BTreeSet<(&'p str, &'p str, &'p str)>>;

fn containers_by_device(pods: &[PodDevices]) -> ContainersByDevice<'_> {
    let mut users = ContainersByDevice::new();
    for pod in pods {
        let container = (
            pod.namespace.as_str(),
            pod.pod.as_str(),
            pod.container.as_str(),
        );
        for id in &pod.device_ids {
            users
                .entry(physical_device_id(id))
                .or_default()
                .insert(container);
        }
    }
    users
}

/// Returns the UUID in a device ID of the kubelet.
fn physical_device_id(id: &str) -> &str {
    id.split_once("::").map_or(id, |(uuid, _)| uuid)
}

fn series(
    scene: &GpuMetricInputs,
    field: &Field,
    users: &ContainersByDevice,
) -> Vec<(Labels, Number)> {
    let mut series = Vec::new();
    for gpu in &scene.inventory.gpus {
        let (Some(info), Some(Ok(sample))) = (gpu.info(), scene.samples.get(&gpu.index())) else {
            continue;
        };
        if matches!(field.name, USED | FREE) && !sample.slices.is_empty() {
            for (uuid, used, free) in &sample.slices {
                let mig_device = info
                    .slices
                    .iter()
                    .find(|mig_device| mig_device.uuid == *uuid);
                let number = if field.name == USED { *used } else { *free };
                if let Some(mig_device) = mig_device {
                    series.push((
                        labels(scene, info, Some(mig_device), users),
                        Integer(number),
                    ));
                }
            }
        } else if let Some(number) = (field.read)(sample) {
            series.push((labels(scene, info, None, users), number));
        }
    }
    series
}

fn labels(
    scene: &GpuMetricInputs,
    info: &GpuInfo,
    mig_device: Option<&MigDeviceInfo>,
    users: &ContainersByDevice,
) -> Labels {
    let mut labels = vec![
        ("gpu", info.index.to_string()),
        ("UUID", info.uuid.clone()),
        ("pci_bus_id", info.pci_bus_id.clone()),
        ("device", format!("nvidia{}", info.index)),
        ("modelName", info.name.clone()),
    ];
    if let Some(mig_device) = mig_device {
        labels.push(("GPU_I_PROFILE", mig_device.profile.clone()));
        labels.push(("GPU_I_ID", mig_device.gi.to_string()));
    }
    labels.push(("Hostname", scene.hostname.to_owned()));
    let driver = scene.inventory.driver.version.clone();
    labels.push(("DCGM_FI_DRIVER_VERSION", driver));
    let uuid = mig_device.map_or(&info.uuid, |mig_device| &mig_device.uuid);
    let containers = users.get(uuid.as_str()).filter(|users| users.len() == 1);
    if let Some((namespace, pod, container)) = containers.and_then(BTreeSet::first) {
        labels.push(("pod", (*pod).to_owned()));
        labels.push(("namespace", (*namespace).to_owned()));
        labels.push(("container", (*container).to_owned()));
    }
    labels
}
