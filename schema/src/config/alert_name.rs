//! The alerts that there are, by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An alert.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum AlertName {
    /// A GPU is hotter than `temperatureCelsius`.
    GpuTemperatureHigh,
    /// A GPU is hotter than `temperatureCelsius` and 5 degrees.
    GpuTemperatureCritical,
    /// The memory of a GPU or slice is nearly used up.
    GpuMemoryNearlyFull,
    /// A GPU draws more than `powerWatts`.
    GpuPowerHigh,
    /// The driver reported an error after which a GPU needs a reset or its node a restart.
    GpuXidFatal,
    /// The driver reported an error that is not a program's fault.
    GpuXid,
    /// A GPU had a memory error that could not be corrected.
    GpuEccUncorrectable,
    /// A row of a GPU's memory was replaced after an error that could not be corrected.
    GpuRowsRemapped,
    /// A row of a GPU's memory could not be replaced.
    GpuRowRemapFailed,
    /// Packets between a GPU and its host have to be sent again.
    GpuPcieReplays,
    /// A pod holds a GPU and does not use it.
    GpuIdle,
    /// A node has GPUs that it does not offer to pods.
    GpuUnhealthy,
    /// A node has fewer GPUs than its pool's machines have.
    GpuMissing,
    /// A pod of a device plugin is not ready on a node of the pool, or nothing of it is where it must be.
    GpuPluginDown,
    /// A GPU exporter is not ready or cannot be scraped on a node of the pool.
    GpuExporterDown,
    /// A node offers GPUs and no metrics of them come in.
    GpuNodeWithoutMetrics,
    /// gpuc-runtime does not hear of the driver's errors.
    GpuHealthUnwatched,
    /// gpuc-runtime refused its configuration and works with the last good one.
    GpuConfigurationRefused,
    /// A namespace has nearly used up its quota of GPUs.
    GpuQuotaNearlyUsed,
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
    ];
}
