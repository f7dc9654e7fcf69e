//! The state of the monitoring of driver events.

use std::collections::BTreeMap;

use crate::nvml::{NvmlError, NvmlErrorKind};

/// The state of the driver monitoring.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Monitoring {
    /// Not started, or disabled.
    #[default]
    Off,
    /// Active.
    Up {
        /// The GPUs without monitoring, by index, and why. They are advertised: missing monitoring does not make
        /// them unhealthy.
        unwatched: BTreeMap<u32, NvmlError>,
    },
    /// Failed and being retried.
    Down {
        /// The error.
        error: String,
        /// The number of failures since the last success.
        failures: u32,
    },
}

impl Monitoring {
    /// Returns the GPUs without monitoring that should have it, and why. GPUs without driver events are not among them.
    pub fn failed_gpus(&self) -> impl Iterator<Item = (u32, &NvmlError)> {
        let unwatched = match self {
            Self::Up { unwatched } => Some(unwatched),
            Self::Off | Self::Down { .. } => None,
        };
        let unwatched = unwatched.into_iter().flatten();
        unwatched
            .filter(|(_, error)| error.kind != NvmlErrorKind::NotSupported)
            .map(|(gpu, error)| (*gpu, error))
    }
}
