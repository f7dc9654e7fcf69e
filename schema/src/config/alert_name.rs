//! The names of all alerts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An alert.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum AlertName {
    /// A GPU is hotter than `temperatureCelsius`.
    GpuTemperatureHigh,
    /// A GPU is more than 5 degrees hotter than `temperatureCelsius`.
    GpuTemperatureCritical,
    /// The memory of a GPU or MIG device is nearly full.
    GpuMemoryNearlyFull,
    /// A GPU draws more than `powerWatts`.
    GpuPowerHigh,
    /// The driver reported an error after which a GPU needs a reset or its node a restart.
    GpuXidFatal,
    /// The driver reported an error that was not caused by an application.
    GpuXid,
    /// A GPU had an uncorrectable memory error.
    GpuEccUncorrectable,
    /// A row of a GPU's memory was remapped after an uncorrectable error.
    GpuRowsRemapped,
    /// A row of a GPU's memory could not be remapped.
    GpuRowRemapFailed,
    /// PCIe packets between a GPU and its host are replayed.
    GpuPcieReplays,
    /// A GPU is allocated to a pod but idle.
    GpuIdle,
    /// A node has GPUs that are not allocatable.
    GpuUnhealthy,
    /// A node does not have the number of GPUs, or of parts of GPUs, that its pool declares.
    GpuMissing,
    /// A device plugin pod is missing or not ready on a node of the pool.
    GpuPluginDown,
    /// A GPU metrics exporter is not ready or cannot be scraped on a node of the pool.
    GpuExporterDown,
    /// A node advertises GPUs, but Prometheus receives no metrics for them.
    GpuNodeWithoutMetrics,
    /// gpuc-runtime does not receive the driver's errors.
    GpuHealthUnwatched,
    /// gpuc-runtime rejected its configuration and uses the last valid one.
    GpuConfigurationRefused,
    /// A namespace has nearly exhausted its GPU quota.
    GpuQuotaNearlyUsed,
    /// Prometheus has no metrics of kube-state-metrics, on which other alerts depend.
    KubeStateMetricsAbsent,
}

impl AlertName {
    /// Every alert, in the order of the documentation.
    pub const ALL: &[Self] = &[
        Self::GpuTemperatureHigh,
        Self::GpuTemperatureCritical,
        Self::GpuMemoryNearlyFull,
        Self::GpuPowerHigh,
        Self::GpuXidFatal,
        Self::GpuXid,
        Self::GpuEccUncorrectable,
        Self::GpuRowsRemapped,
        Self::GpuRowRemapFailed,
        Self::GpuPcieReplays,
        Self::GpuIdle,
        Self::GpuUnhealthy,
        Self::GpuMissing,
        Self::GpuPluginDown,
        Self::GpuExporterDown,
        Self::GpuNodeWithoutMetrics,
        Self::GpuHealthUnwatched,
        Self::GpuConfigurationRefused,
        Self::GpuQuotaNearlyUsed,
        Self::KubeStateMetricsAbsent,
    ];
}
