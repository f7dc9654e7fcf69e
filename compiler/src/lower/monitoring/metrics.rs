//! Every metric that rules and dashboards read, with its unit and who exports it.
//!
//! Expressions are made from these constants, so that none can name what nobody exports; what dcgm-exporter is told to
//! export is what the expressions of a pool read of it, and nothing else.
//!
//! Names, types and units of GPUs' metrics: NVIDIA/dcgm-exporter@4.5.3-4.8.2 `etc/default-counters.csv` and
//! `etc/dcp-metrics-included.csv`. Those of Kubernetes' objects: kubernetes/kube-state-metrics `docs/metrics/`, read
//! 2026-11-21. Those of gpuc-runtime: `docs/runtime.md`.

use Exporter::{Dcgm, KubeStateMetrics, Prometheus, Runtime};
use Kind::{Counter, Gauge};

/// A metric as it is scraped.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name; for a metric of GPUs, DCGM's name of the field.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its unit, in words.
    pub unit: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Who exports it.
    pub exporters: &'static [Exporter],
}

/// A metric's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It goes up and down.
    Gauge,
    /// It only goes up, until what counts starts anew.
    Counter,
}

/// Who exports a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exporter {
    /// dcgm-exporter, told to by its list.
    Dcgm,
    /// gpuc-runtime.
    Runtime,
    /// kube-state-metrics.
    KubeStateMetrics,
    /// Prometheus, about what it scrapes and evaluates.
    Prometheus,
}

impl Kind {
    /// Its name in Prometheus.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

impl Exporter {
    /// Its name.
    pub fn word(self) -> &'static str {
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

/// GPUs' metrics that both exporters have.
const BOTH: &[Exporter] = &[Dcgm, Runtime];

/// How hot a GPU is.
pub static TEMPERATURE: Metric = metric(
    "DCGM_FI_DEV_GPU_TEMP",
    Gauge,
    "degrees Celsius",
    "GPU temperature (in C).",
    BOTH,
);

/// What a GPU draws.
pub static POWER: Metric = metric(
    "DCGM_FI_DEV_POWER_USAGE",
    Gauge,
    "watts",
    "Power draw (in W).",
    BOTH,
);

/// What a GPU has drawn.
pub static ENERGY: Metric = metric(
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    Counter,
    "millijoules",
    "Total energy consumption since boot (in mJ).",
    BOTH,
);

/// How fast a GPU's processors run.
pub static SM_CLOCK: Metric = metric(
    "DCGM_FI_DEV_SM_CLOCK",
    Gauge,
    "megahertz",
    "SM clock frequency (in MHz).",
    BOTH,
);

/// How much of the time a whole GPU is busy. GPUs in MIG mode have none.
pub static UTILIZATION: Metric = metric(
    "DCGM_FI_DEV_GPU_UTIL",
    Gauge,
    "percent",
    "GPU utilization (in %).",
    BOTH,
);

/// How much of the time a GPU or a MIG slice is busy.
pub static ENGINE_ACTIVE: Metric = metric(
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    Gauge,
    "ratio",
    "Ratio of time the graphics engine is active.",
    &[Dcgm],
);

/// Memory in use.
pub static MEMORY_USED: Metric = metric(
    "DCGM_FI_DEV_FB_USED",
    Gauge,
    "mebibytes",
    "Framebuffer memory used (in MiB).",
    BOTH,
);

/// Memory that is not in use.
pub static MEMORY_FREE: Metric = metric(
    "DCGM_FI_DEV_FB_FREE",
    Gauge,
    "mebibytes",
    "Framebuffer memory free (in MiB).",
    BOTH,
);

/// The number of the last critical error; its labels `err_code` and `err_msg` say it too.
pub static XID: Metric = metric(
    "DCGM_FI_DEV_XID_ERRORS",
    Gauge,
    "number of an error",
    "Value of the last XID error encountered.",
    BOTH,
);

/// Memory errors that could not be corrected, over the card's life.
pub static ECC_UNCORRECTABLE: Metric = metric(
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
    Counter,
    "errors",
    "Total number of double-bit persistent ECC errors.",
    BOTH,
);

/// Rows of memory that were replaced after an error that could not be corrected.
pub static ROWS_REMAPPED: Metric = metric(
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    Counter,
    "rows",
    "Number of remapped rows for uncorrectable errors.",
    BOTH,
);

/// Whether a row could not be replaced.
pub static ROW_REMAP_FAILURE: Metric = metric(
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    Gauge,
    "0 or 1",
    "Whether remapping of rows has failed.",
    BOTH,
);

/// Packets that had to be sent again between a GPU and its host.
pub static PCIE_REPLAYS: Metric = metric(
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    Counter,
    "packets",
    "Total number of PCIe retries.",
    BOTH,
);

/// Which container has how much of a GPU.
pub static CONTAINER_SHARES: Metric = metric(
    "gpuc_container_shares",
    Gauge,
    "shares",
    "How many shares of a GPU or MIG device a container has.",
    &[Runtime],
);

/// Whether the driver's events come in.
pub static MONITORING_UP: Metric = metric(
    "gpuc_monitoring_up",
    Gauge,
    "0 or 1",
    "Whether the driver's events come in.",
    &[Runtime],
);

/// Whether the newest configuration is in use.
pub static CONFIGURATION_TAKEN: Metric = metric(
    "gpuc_config_last_reload_successful",
    Gauge,
    "0 or 1",
    "Whether the newest configuration is in use.",
    &[Runtime],
);

/// What a node has of a resource; the resource's name has `_` for everything but letters and digits.
pub static NODE_CAPACITY: Metric = metric(
    "kube_node_status_capacity",
    Gauge,
    "of the resource",
    "The total amount of resources available for a node.",
    &[KubeStateMetrics],
);

/// What a node offers of a resource.
pub static NODE_ALLOCATABLE: Metric = metric(
    "kube_node_status_allocatable",
    Gauge,
    "of the resource",
    "The amount of resources allocatable for pods.",
    &[KubeStateMetrics],
);

/// What a container asks for.
pub static CONTAINER_REQUESTS: Metric = metric(
    "kube_pod_container_resource_requests",
    Gauge,
    "of the resource",
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

/// On how many nodes a DaemonSet must run.
pub static DAEMON_SET_DESIRED: Metric = metric(
    "kube_daemonset_status_desired_number_scheduled",
    Gauge,
    "nodes",
    "The number of nodes that should be running the daemon pod.",
    &[KubeStateMetrics],
);

/// On how many nodes a DaemonSet is ready.
pub static DAEMON_SET_READY: Metric = metric(
    "kube_daemonset_status_number_ready",
    Gauge,
    "nodes",
    "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and ready.",
    &[KubeStateMetrics],
);

/// A quota and what is used of it; the resource's name is written as in the quota.
pub static RESOURCE_QUOTA: Metric = metric(
    "kube_resourcequota",
    Gauge,
    "of the resource",
    "Information about resource quota.",
    &[KubeStateMetrics],
);

/// Whether a target could be scraped.
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

/// Every metric that rules and dashboards may read, GPUs' first.
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
    &CONFIGURATION_TAKEN,
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
    fn names_are_their_own_and_counters_are_not_taken_for_gauges() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        // `up` to the end of DCGM's names: those that count say so.
        for metric in METRICS.iter().filter(|it| it.exporters.contains(&Dcgm)) {
            let counts = ["TOTAL", "COUNTER", "REMAPPED_ROWS"];
            let counts = counts.iter().any(|word| metric.name.contains(word));
            assert_eq!(metric.kind == Counter, counts, "{}", metric.name);
        }
    }
}
