//! Every metric that rules and dashboards query, with its unit and exporters.
//!
//! [`dcgm`] lists all metrics of dcgm-exporter, for users' expressions; [`ExportedMetrics`] are those of a cluster.
//!
//! Expressions are built from these constants, so none can name a metric without an exporter. dcgm-exporter is
//! configured to export exactly the metrics that the expressions of a pool query.
//!
//! Names, types and units of GPU metrics: NVIDIA/dcgm-exporter@4.5.3-4.8.2 `etc/default-counters.csv` and
//! `etc/dcp-metrics-included.csv`. Those of Kubernetes objects: kubernetes/kube-state-metrics `docs/metrics/`, read
//! 2026-11-21. Those of gpuc-runtime: `docs/runtime.md`.

pub mod dcgm;
mod exported;

pub use exported::{ExportedMetrics, MetricList};

use Exporter::{Dcgm, KubeStateMetrics, Prometheus, Runtime};
use Kind::{Counter, Gauge};

/// A scraped metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name; for a GPU metric, the name of the DCGM field.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The unit, in plain English.
    pub unit: &'static str,
    /// The help text.
    pub help: &'static str,
    /// The exporters that have it.
    pub exporters: &'static [Exporter],
}

/// A metric's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Can increase and decrease.
    Gauge,
    /// Only increases, until its source restarts.
    Counter,
}

/// The source of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exporter {
    /// dcgm-exporter, by its list of metrics.
    Dcgm,
    /// gpuc-runtime.
    Runtime,
    /// kube-state-metrics.
    KubeStateMetrics,
    /// Prometheus itself, about its scrapes and rules.
    Prometheus,
}

impl Kind {
    /// The type's name in Prometheus.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

impl Exporter {
    /// The exporter's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dcgm => "dcgm-exporter",
            Self::Runtime => "gpuc-runtime",
            Self::KubeStateMetrics => "kube-state-metrics",
            Self::Prometheus => "Prometheus",
        }
    }
}

impl Metric {
    /// Whether the metric needs DCGM's profiling module, which needs `SYS_ADMIN`.
    pub fn is_profiling(&self) -> bool {
        self.name.starts_with("DCGM_FI_PROF_")
    }
}

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    help: &'static str,
    exporters: &'static [Exporter],
) -> Metric {
    Metric {
        name,
        kind,
        unit,
        help,
        exporters,
    }
}

/// GPU metrics that both exporters have.
const GPU_EXPORTERS: &[Exporter] = &[Dcgm, Runtime];

/// GPU temperature.
pub static TEMPERATURE: Metric = metric(
    "DCGM_FI_DEV_GPU_TEMP",
    Gauge,
    "degrees Celsius",
    "GPU temperature (in C).",
    GPU_EXPORTERS,
);

/// GPU power draw.
pub static POWER: Metric = metric(
    "DCGM_FI_DEV_POWER_USAGE",
    Gauge,
    "watts",
    "Power draw (in W).",
    GPU_EXPORTERS,
);

/// Total energy consumption of a GPU.
pub static ENERGY: Metric = metric(
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    Counter,
    "millijoules",
    "Total energy consumption since boot (in mJ).",
    GPU_EXPORTERS,
);

/// SM clock of a GPU.
pub static SM_CLOCK: Metric = metric(
    "DCGM_FI_DEV_SM_CLOCK",
    Gauge,
    "megahertz",
    "SM clock frequency (in MHz).",
    GPU_EXPORTERS,
);

/// Utilization of a full GPU. GPUs in MIG mode have none.
pub static UTILIZATION: Metric = metric(
    "DCGM_FI_DEV_GPU_UTIL",
    Gauge,
    "percent",
    "GPU utilization (in %).",
    GPU_EXPORTERS,
);

/// Utilization of a GPU or MIG device.
pub static ENGINE_ACTIVE: Metric = metric(
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    Gauge,
    "ratio",
    "Ratio of time the graphics engine is active.",
    &[Dcgm],
);

/// Used GPU memory.
pub static MEMORY_USED: Metric = metric(
    "DCGM_FI_DEV_FB_USED",
    Gauge,
    "mebibytes",
    "Framebuffer memory used (in MiB).",
    GPU_EXPORTERS,
);

/// Free GPU memory.
pub static MEMORY_FREE: Metric = metric(
    "DCGM_FI_DEV_FB_FREE",
    Gauge,
    "mebibytes",
    "Framebuffer memory free (in MiB).",
    GPU_EXPORTERS,
);

/// The number of the last critical error, which is also in its labels `err_code` and `err_msg`.
pub static XID: Metric = metric(
    "DCGM_FI_DEV_XID_ERRORS",
    Gauge,
    "error number",
    "Value of the last XID error encountered.",
    GPU_EXPORTERS,
);

/// Uncorrectable memory errors over the GPU's lifetime.
pub static ECC_UNCORRECTABLE: Metric = metric(
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
    Counter,
    "errors",
    "Total number of double-bit persistent ECC errors.",
    GPU_EXPORTERS,
);

/// Memory rows that were remapped after an uncorrectable error.
pub static ROWS_REMAPPED: Metric = metric(
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    Counter,
    "rows",
    "Number of remapped rows for uncorrectable errors.",
    GPU_EXPORTERS,
);

/// Whether a row could not be remapped.
pub static ROW_REMAP_FAILURE: Metric = metric(
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    Gauge,
    "0 or 1",
    "Whether remapping of rows has failed.",
    GPU_EXPORTERS,
);

/// Retransmitted PCIe packets between a GPU and its host.
pub static PCIE_REPLAYS: Metric = metric(
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    Counter,
    "packets",
    "Total number of PCIe retries.",
    GPU_EXPORTERS,
);

/// The replicas of a GPU that each container holds.
pub static CONTAINER_SHARES: Metric = metric(
    "gpuc_container_shares",
    Gauge,
    "replicas",
    "The number of replicas of a GPU or MIG device that a container holds.",
    &[Runtime],
);

/// Whether gpuc-runtime receives the driver's events.
pub static MONITORING_UP: Metric = metric(
    "gpuc_monitoring_up",
    Gauge,
    "0 or 1",
    "Whether gpuc-runtime receives the driver's events.",
    &[Runtime],
);

/// The GPUs without health monitoring.
pub static UNMONITORED_GPUS: Metric = metric(
    "gpuc_unmonitored_gpus",
    Gauge,
    "GPUs",
    "The number of GPUs whose driver events gpuc-runtime does not receive.",
    &[Runtime],
);

/// Whether the latest configuration is in use.
pub static CONFIGURATION_APPLIED: Metric = metric(
    "gpuc_config_last_reload_successful",
    Gauge,
    "0 or 1",
    "Whether the latest configuration is in use.",
    &[Runtime],
);

/// Capacity of a node for a resource; the resource name has `_` in place of every other character than letters and
/// digits.
pub static NODE_CAPACITY: Metric = metric(
    "kube_node_status_capacity",
    Gauge,
    "units of the resource",
    "The total amount of resources available for a node.",
    &[KubeStateMetrics],
);

/// Allocatable amount of a resource on a node.
pub static NODE_ALLOCATABLE: Metric = metric(
    "kube_node_status_allocatable",
    Gauge,
    "units of the resource",
    "The amount of resources allocatable for pods.",
    &[KubeStateMetrics],
);

/// Resource requests of a container.
pub static CONTAINER_REQUESTS: Metric = metric(
    "kube_pod_container_resource_requests",
    Gauge,
    "units of the resource",
    "The number of requested request resource by a container.",
    &[KubeStateMetrics],
);

/// Whether a pod is in a phase.
pub static POD_PHASE: Metric = metric(
    "kube_pod_status_phase",
    Gauge,
    "0 or 1",
    "The pods current phase.",
    &[KubeStateMetrics],
);

/// The number of nodes that a DaemonSet is scheduled to.
pub static DAEMON_SET_DESIRED: Metric = metric(
    "kube_daemonset_status_desired_number_scheduled",
    Gauge,
    "nodes",
    "The number of nodes that should be running the daemon pod.",
    &[KubeStateMetrics],
);

/// The number of nodes on which a DaemonSet is ready.
pub static DAEMON_SET_READY: Metric = metric(
    "kube_daemonset_status_number_ready",
    Gauge,
    "nodes",
    "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and ready.",
    &[KubeStateMetrics],
);

/// A quota and its usage; the resource name is written as in the quota.
pub static RESOURCE_QUOTA: Metric = metric(
    "kube_resourcequota",
    Gauge,
    "units of the resource",
    "Information about resource quota.",
    &[KubeStateMetrics],
);

/// Whether the last scrape of a target was successful.
pub static UP: Metric = metric(
    "up",
    Gauge,
    "0 or 1",
    "Whether the last scrape of a target was successful.",
    &[Prometheus],
);

/// Alerts that are pending or firing.
pub static ALERTS: Metric = metric(
    "ALERTS",
    Gauge,
    "1",
    "Alerts that are pending or firing.",
    &[Prometheus],
);

/// Every metric that rules and dashboards may query, GPU metrics first.
pub static METRICS: &[&Metric] = &[
    &TEMPERATURE,
    &POWER,
    &ENERGY,
    &SM_CLOCK,
    &UTILIZATION,
    &ENGINE_ACTIVE,
    &MEMORY_USED,
    &MEMORY_FREE,
    &XID,
    &ECC_UNCORRECTABLE,
    &ROWS_REMAPPED,
    &ROW_REMAP_FAILURE,
    &PCIE_REPLAYS,
    &CONTAINER_SHARES,
    &MONITORING_UP,
    &UNMONITORED_GPUS,
    &CONFIGURATION_APPLIED,
    &NODE_CAPACITY,
    &NODE_ALLOCATABLE,
    &CONTAINER_REQUESTS,
    &POD_PHASE,
    &DAEMON_SET_DESIRED,
    &DAEMON_SET_READY,
    &RESOURCE_QUOTA,
    &UP,
    &ALERTS,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_counters_are_typed() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        // The names of DCGM's counters contain one of these.
        for metric in METRICS.iter().filter(|it| it.exporters.contains(&Dcgm)) {
            let is_counter = ["TOTAL", "COUNTER", "REMAPPED_ROWS"]
                .iter()
                .any(|part| metric.name.contains(part));
            assert_eq!(metric.kind == Counter, is_counter, "{}", metric.name);
        }
    }
}
