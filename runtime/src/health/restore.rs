//! The health records of a previous process.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Health;
use super::fault::DeviceRecord;

/// The health records, by the UUID of the GPU or MIG device. Times are milliseconds of the owner's clock.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Records(pub(super) BTreeMap<String, DeviceRecord>);

impl Health {
    /// Returns the records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Replaces the records by those of a previous process. They take effect with the first discovery, which finds the
    /// GPU of each.
    pub fn restore(&mut self, records: Records, now: u64) {
        self.records = records;
        for record in self.records.0.values_mut() {
            record.limit_times(now);
        }
    }

    /// Returns all devices with a fault, by the UUID of the GPU or MIG device, and the causes, before the GPUs are
    /// discovered.
    pub fn restored(&self) -> BTreeMap<&str, String> {
        let records = self.records.0.iter();
        records
            .filter_map(|(uuid, record)| Some((uuid.as_str(), record.unhealthy_reason()?)))
            .collect()
    }
}
