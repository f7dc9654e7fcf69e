//! The metrics of dcgm-exporter, whether or not a list of metrics enables them.
//!
//! Names and types: NVIDIA/dcgm-exporter@4.5.3-4.8.2 `etc/default-counters.csv` and `etc/dcp-metrics-included.csv`,
//! with the lines that are comments there, 2026-11-28. `DCGM_FI_DEV_FB_TOTAL` and `DCGM_FI_DEV_FB_USED_PERCENT`, which
//! no list contains: NVIDIA/DCGM `dcgmlib/dcgm_fields.h`, fields 250 and 254, 2026-11-28.

use super::Kind::{self, Counter, Gauge};
use Range::{Any, Fraction, Percent};

/// A metric of dcgm-exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcgmMetric {
    /// The name.
    pub name: &'static str,
    /// The type in the lists.
    pub kind: Kind,
    /// Whether the metric is what its type says.
    pub is_kind_certain: bool,
    /// The possible values.
    pub range: Range,
}

/// The possible values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// No known limits.
    Any,
    /// From 0 to 1.
    Fraction,
    /// Whole numbers from 0 to 100.
    Percent,
}

impl Range {
    /// The largest value.
    pub fn max(self) -> Option<f64> {
        match self {
            Any => None,
            Fraction => Some(1.0),
            Percent => Some(100.0),
        }
    }
}

impl DcgmMetric {
    /// Whether the metric needs DCGM's profiling module, which needs `SYS_ADMIN`.
    pub fn is_profiling(&self) -> bool {
        self.name.starts_with("DCGM_FI_PROF_")
    }

    /// The metric as a line of a list of metrics. Its help text repeats the name.
    pub fn csv_line(&self) -> String {
        let help = self.name.splitn(4, '_').last().unwrap_or(self.name);
        let help = help.to_lowercase().replace('_', " ");
        format!("{}, {}, {help}", self.name, self.kind.as_str())
    }
}

/// The metric with this name.
pub fn dcgm_metric(name: &str) -> Option<&'static DcgmMetric> {
    DCGM_METRICS.iter().find(|metric| metric.name == name)
}

const fn metric(name: &'static str, kind: Kind, range: Range) -> DcgmMetric {
    DcgmMetric {
        name,
        kind,
        is_kind_certain: true,
        range,
    }
}

const fn gauge(name: &'static str) -> DcgmMetric {
    metric(name, Gauge, Any)
}

const fn percent(name: &'static str) -> DcgmMetric {
    metric(name, Gauge, Percent)
}

const fn fraction(name: &'static str) -> DcgmMetric {
    metric(name, Gauge, Fraction)
}

const fn counter(name: &'static str) -> DcgmMetric {
    metric(name, Counter, Any)
}

/// A metric whose type differs between versions of the lists, or whose values do not match its type.
const fn uncertain(name: &'static str, kind: Kind) -> DcgmMetric {
    DcgmMetric {
        is_kind_certain: false,
        ..metric(name, kind, Any)
    }
}

/// Every metric, by name.
///
/// The lists call the number of events in a time window a counter (`DCGM_EXP_…`), and have the throughput of PCIe both
/// as a counter and as a gauge.
pub static DCGM_METRICS: &[DcgmMetric] = &[
    uncertain("DCGM_EXP_CLOCK_EVENTS_COUNT", Counter),
    uncertain("DCGM_EXP_GPU_HEALTH_STATUS", Counter),
    uncertain("DCGM_EXP_P2P_STATUS", Counter),
    uncertain("DCGM_EXP_XID_ERRORS_COUNT", Counter),
    counter("DCGM_FI_DEV_BOARD_LIMIT_VIOLATION"),
    counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"),
    percent("DCGM_FI_DEV_DEC_UTIL"),
    counter("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"),
    counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"),
    counter("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"),
    counter("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
    percent("DCGM_FI_DEV_ENC_UTIL"),
    gauge("DCGM_FI_DEV_FB_FREE"),
    gauge("DCGM_FI_DEV_FB_RESERVED"),
    gauge("DCGM_FI_DEV_FB_TOTAL"),
    gauge("DCGM_FI_DEV_FB_USED"),
    fraction("DCGM_FI_DEV_FB_USED_PERCENT"),
    gauge("DCGM_FI_DEV_GPU_TEMP"),
    percent("DCGM_FI_DEV_GPU_UTIL"),
    counter("DCGM_FI_DEV_LOW_UTIL_VIOLATION"),
    gauge("DCGM_FI_DEV_MEMORY_TEMP"),
    gauge("DCGM_FI_DEV_MEM_CLOCK"),
    percent("DCGM_FI_DEV_MEM_COPY_UTIL"),
    uncertain("DCGM_FI_DEV_NVLINK_BANDWIDTH_L0", Counter),
    uncertain("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", Counter),
    counter("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"),
    counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"),
    counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"),
    counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"),
    counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"),
    gauge("DCGM_FI_DEV_POWER_USAGE"),
    counter("DCGM_FI_DEV_POWER_VIOLATION"),
    counter("DCGM_FI_DEV_RELIABILITY_VIOLATION"),
    counter("DCGM_FI_DEV_RETIRED_DBE"),
    uncertain("DCGM_FI_DEV_RETIRED_PENDING", Counter),
    counter("DCGM_FI_DEV_RETIRED_SBE"),
    gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE"),
    gauge("DCGM_FI_DEV_SM_CLOCK"),
    counter("DCGM_FI_DEV_SYNC_BOOST_VIOLATION"),
    counter("DCGM_FI_DEV_THERMAL_VIOLATION"),
    counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"),
    counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"),
    gauge("DCGM_FI_DEV_VGPU_LICENSE_STATUS"),
    gauge("DCGM_FI_DEV_XID_ERRORS"),
    fraction("DCGM_FI_PROF_DRAM_ACTIVE"),
    fraction("DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
    uncertain("DCGM_FI_PROF_PCIE_RX_BYTES", Gauge),
    uncertain("DCGM_FI_PROF_PCIE_TX_BYTES", Gauge),
    fraction("DCGM_FI_PROF_PIPE_FP16_ACTIVE"),
    fraction("DCGM_FI_PROF_PIPE_FP32_ACTIVE"),
    fraction("DCGM_FI_PROF_PIPE_FP64_ACTIVE"),
    fraction("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
    fraction("DCGM_FI_PROF_SM_ACTIVE"),
    fraction("DCGM_FI_PROF_SM_OCCUPANCY"),
];

/// The metrics of GPUs that gpuc-runtime has, by the names of dcgm-exporter. A test of gpuc-runtime compares them.
pub const RUNTIME_GPU_METRICS: &[&str] = &[
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_DEC_UTIL",
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
    "DCGM_FI_DEV_ENC_UTIL",
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_FB_RESERVED",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_MEMORY_TEMP",
    "DCGM_FI_DEV_MEM_CLOCK",
    "DCGM_FI_DEV_MEM_COPY_UTIL",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_XID_ERRORS",
];

#[cfg(test)]
mod tests {
    use super::super::{Exporter, METRICS};
    use super::*;

    #[test]
    fn metrics_are_sorted_and_unique() {
        assert!(DCGM_METRICS.is_sorted_by(|a, b| a.name < b.name));
        assert!(RUNTIME_GPU_METRICS.is_sorted_by(|a, b| a < b));
        for name in RUNTIME_GPU_METRICS {
            assert!(dcgm_metric(name).is_some(), "{name}");
        }
    }

    #[test]
    fn queried_metrics_have_the_same_type() {
        for metric in METRICS {
            if metric.exporters.contains(&Exporter::Dcgm) {
                let listed = dcgm_metric(metric.name).expect(metric.name);
                assert_eq!(listed.kind, metric.kind, "{}", metric.name);
            }
        }
    }

    #[test]
    fn lines_are_those_of_a_list() {
        let line = dcgm_metric("DCGM_FI_DEV_MEM_CLOCK").map(DcgmMetric::csv_line);
        assert_eq!(
            line.as_deref(),
            Some("DCGM_FI_DEV_MEM_CLOCK, gauge, mem clock")
        );
    }
}
