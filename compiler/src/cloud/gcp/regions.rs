//! The regions that Google Cloud is commonly known to have.
//!
//! General knowledge of 2026-11, with a few that Google opened to some customers alone. Google adds regions, so a
//! region that is not here is worth a warning, not an error.

/// The regions, by part of the world.
#[rustfmt::skip] // One part of the world a line.
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
    fn every_zone_with_a_gpu_is_in_a_region_of_the_list() {
        for region in zones::regions() {
            assert!(REGIONS.contains(&region), "{region}");
        }
    }
}
