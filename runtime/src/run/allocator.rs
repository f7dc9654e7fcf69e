//! Answers the kubelet's allocation calls and counts them.

use std::time::Instant;

use crate::allocate::{self, AllocationError, ContainerAllocation};
use crate::device::AdvertisedResource;
use crate::metrics::PluginMetrics;
use crate::plugin::{AllocationHandler, AllocationRejection};
use crate::preferred;
use crate::state::State;

/// Answers from the state alone, without driver calls.
pub(super) struct Allocator {
    pub(super) metrics: PluginMetrics,
}

impl AllocationHandler for Allocator {
    fn allocate(
        &self,
        state: &State,
        advertised: &AdvertisedResource,
        ids: &[String],
    ) -> Result<ContainerAllocation, AllocationRejection> {
        let start = Instant::now();
        let result = allocate::allocate(state, advertised, ids);
        let took = start.elapsed();
        result
            .inspect(|_| self.metrics.record_allocation(&advertised.resource, took))
            .map_err(|error| {
                self.metrics
                    .record_refusal(&advertised.resource, error.reason(), took);
                let message = error.to_string();
                match error {
                    AllocationError::Unhealthy { .. }
                    | AllocationError::MissingCapability { .. } => {
                        AllocationRejection::Unusable(message)
                    }
                    AllocationError::Empty { .. }
                    | AllocationError::Unknown { .. }
                    | AllocationError::Duplicate { .. }
                    | AllocationError::TooMany { .. } => AllocationRejection::Invalid(message),
                }
            })
    }

    fn preferred_devices(
        &self,
        state: &State,
        advertised: &AdvertisedResource,
        available: &[String],
        must_include: &[String],
        size: usize,
    ) -> Vec<String> {
        let start = Instant::now();
        let chosen = preferred::preferred_devices(state, advertised, available, must_include, size);
        self.metrics.record_preferred_allocation(start.elapsed());
        chosen
    }
}
