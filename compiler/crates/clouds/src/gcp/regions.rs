//! Known regions of Google Cloud.
//!
//! General knowledge of 2026-11, including a few regions that are open only to selected customers. Google adds regions.
//! A region that is missing here is therefore reported as a warning, not an error.

/// The regions, grouped by part of the world.
#[rustfmt::skip] // One part of the world per line.
pub(super) static REGIONS: &[&str] = &[
    "us-central1", "us-central2", "us-east1", "us-east4", "us-east5", "us-east7", "us-south1", "us-west1", "us-west2",
    "us-west3", "us-west4", "us-west8",
    "northamerica-northeast1", "northamerica-northeast2", "northamerica-south1",
    "southamerica-east1", "southamerica-west1",
    "europe-central2", "europe-north1", "europe-north2", "europe-southwest1", "europe-west1", "europe-west2",
    "europe-west3", "europe-west4", "europe-west5", "europe-west6", "europe-west8", "europe-west9", "europe-west10",
    "europe-west12",
    "africa-south1", "me-central1", "me-central2", "me-west1",
    "asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2", "asia-northeast3", "asia-south1", "asia-south2",
    "asia-southeast1", "asia-southeast2", "asia-southeast3",
    "australia-southeast1", "australia-southeast2",
];

#[cfg(test)]
mod tests {
    use super::super::zones;
    use super::*;

    #[test]
    fn zones_with_gpus_are_in_known_regions() {
        for region in zones::accelerator_regions() {
            assert!(REGIONS.contains(&region), "{region}");
        }
    }
}
