//! Zones with a GPU model, for GPU models whose zones are known.
//!
//! Source, read 2026-11-21: Cyclenerd/google-cloud-pricing-cost-calculator@dac3128 `tools/acceleratortypezone.csv`.
//! The K80 is omitted, because Google's list of accelerators no longer contains it. No source was found for the H100
//! and later models, and a zone may be new. A missing zone is therefore reported as a warning, not an error.

/// Zones with a GPU model.
#[derive(Debug)]
pub struct AcceleratorZones {
    /// Google's name for the GPU model.
    pub accelerator: &'static str,
    /// The zones, by name.
    pub zones: &'static [&'static str],
}

/// Zones with this GPU model; `None` if they are not known.
pub fn accelerator_zones(accelerator: &str) -> Option<&'static [&'static str]> {
    ACCELERATOR_ZONES
        .iter()
        .find(|entry| entry.accelerator == accelerator)
        .map(|entry| entry.zones)
}

/// Regions of all these zones, by name. Regions without any of these GPU models are missing.
pub fn accelerator_regions() -> Vec<&'static str> {
    let zones = ACCELERATOR_ZONES.iter().flat_map(|entry| entry.zones);
    let mut regions: Vec<_> = zones
        .filter_map(|zone| Some(zone.rsplit_once('-')?.0))
        .collect();
    regions.sort_unstable();
    regions.dedup();
    regions
}

/// All GPU models with known zones, by name.
#[rustfmt::skip] // One region per line.
pub static ACCELERATOR_ZONES: &[AcceleratorZones] = &[
    AcceleratorZones {
        accelerator: "nvidia-a100-80gb",
        zones: &[
            "asia-southeast1-c",
            "europe-west4-a",
            "us-central1-a", "us-central1-c",
            "us-east4-c",
            "us-east5-b",
            "us-east7-a",
        ],
    },
    AcceleratorZones {
        accelerator: "nvidia-l4",
        zones: &[
            "asia-south1-a",
            "asia-southeast1-b",
            "europe-west4-a", "europe-west4-b", "europe-west4-c",
            "us-central1-a", "us-central1-b", "us-central1-c",
            "us-east1-b", "us-east1-d",
            "us-east4-a",
            "us-east7-b",
            "us-west1-a", "us-west1-b",
        ],
    },
    AcceleratorZones {
        accelerator: "nvidia-tesla-a100",
        zones: &[
            "asia-northeast1-a", "asia-northeast1-c",
            "asia-northeast3-a", "asia-northeast3-b",
            "asia-southeast1-b", "asia-southeast1-c",
            "europe-west4-a", "europe-west4-b",
            "me-west1-b", "me-west1-c",
            "us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f",
            "us-east1-a", "us-east1-b",
            "us-west1-b",
            "us-west3-b",
            "us-west4-b",
        ],
    },
    AcceleratorZones {
        accelerator: "nvidia-tesla-p100",
        zones: &[
            "asia-east1-a", "asia-east1-c",
            "australia-southeast1-c",
            "europe-west1-b", "europe-west1-d",
            "europe-west4-a",
            "us-central1-c", "us-central1-f",
            "us-east1-a", "us-east1-b", "us-east1-c",
            "us-east7-b",
            "us-west1-a", "us-west1-b",
        ],
    },
    AcceleratorZones {
        accelerator: "nvidia-tesla-p4",
        zones: &[
            "asia-southeast1-b", "asia-southeast1-c",
            "australia-southeast1-a", "australia-southeast1-b",
            "europe-west4-b", "europe-west4-c",
            "northamerica-northeast1-a", "northamerica-northeast1-b", "northamerica-northeast1-c",
            "us-central1-a", "us-central1-c",
            "us-east1-a",
            "us-east4-a", "us-east4-b", "us-east4-c",
            "us-east7-b",
            "us-west2-b", "us-west2-c",
        ],
    },
    AcceleratorZones {
        accelerator: "nvidia-tesla-t4",
        zones: &[
            "asia-east1-a", "asia-east1-c",
            "asia-east2-a", "asia-east2-c",
            "asia-northeast1-a", "asia-northeast1-c",
            "asia-northeast3-b", "asia-northeast3-c",
            "asia-south1-a", "asia-south1-b", "asia-south1-c",
            "asia-southeast1-a", "asia-southeast1-b", "asia-southeast1-c",
            "asia-southeast2-a", "asia-southeast2-b",
            "australia-southeast1-a", "australia-southeast1-c",
            "europe-central2-b", "europe-central2-c",
            "europe-west1-b", "europe-west1-c", "europe-west1-d",
            "europe-west2-a", "europe-west2-b",
            "europe-west3-b",
            "europe-west4-a", "europe-west4-b", "europe-west4-c",
            "me-west1-b", "me-west1-c",
            "northamerica-northeast1-c",
            "southamerica-east1-a", "southamerica-east1-c",
            "us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f",
            "us-east1-a", "us-east1-c", "us-east1-d",
            "us-east4-a", "us-east4-b", "us-east4-c",
            "us-east7-b",
            "us-west1-a", "us-west1-b",
            "us-west2-b", "us-west2-c",
            "us-west3-b",
            "us-west4-a", "us-west4-b",
        ],
    },
    AcceleratorZones {
        accelerator: "nvidia-tesla-v100",
        zones: &[
            "asia-east1-c",
            "europe-west4-a", "europe-west4-b", "europe-west4-c",
            "us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f",
            "us-east1-a", "us-east1-c",
            "us-east7-b",
            "us-west1-a", "us-west1-b",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::super::{attachable_gpus, machines, names};
    use super::*;

    #[test]
    fn zones_are_sorted_and_gpus_are_known() {
        assert!(ACCELERATOR_ZONES.is_sorted_by(|a, b| a.accelerator < b.accelerator));
        for AcceleratorZones { accelerator, zones } in ACCELERATOR_ZONES {
            assert!(zones.is_sorted_by(|a, b| a < b), "{accelerator}");
            assert!(zones.iter().all(|zone| names::is_zone_name(zone)));
            let comes_with = machines::MACHINES
                .iter()
                .any(|row| row.accelerator == *accelerator);
            let mut attachable = attachable_gpus::ATTACHABLE.iter();
            assert!(comes_with || attachable.any(|row| row.accelerator == *accelerator));
        }
    }

    #[test]
    fn regions_are_derived_from_zones() {
        let regions = accelerator_regions();
        assert!(regions.iter().all(|region| names::is_region_name(region)));
        assert!(regions.contains(&"us-central1") && regions.contains(&"europe-west4"));
        assert!(!regions.contains(&"us-central1-a"));
        assert!(
            accelerator_zones("nvidia-l4").is_some_and(|zones| zones.contains(&"europe-west4-a"))
        );
        assert!(accelerator_zones("nvidia-b200").is_none());
    }
}
