//! MIG partitions that GKE creates (`--accelerator …,gpu-partition-size=`).
//!
//! Source, read 2026-11-21: GoogleCloudPlatform/container-engine-accelerators@992db812 `partition_gpu/partition_gpu.go`
//! (`partitionSizeMaxCount`). GKE fills a GPU with one size; `nvidia-h100-mega-80gb` has no separate entry there.

/// Partition sizes of a GPU model.
#[derive(Debug)]
pub struct PartitionSizes {
    /// Google's name for the GPU model.
    pub accelerator: &'static str,
    /// Each size, and the number of partitions of this size per GPU.
    pub sizes: &'static [(&'static str, u32)],
}

/// Partition sizes of a GPU model; `None` if GKE does not partition it.
pub fn partition_sizes(accelerator: &str) -> Option<&'static [(&'static str, u32)]> {
    PARTITION_SIZES
        .iter()
        .find(|entry| entry.accelerator == accelerator)
        .map(|entry| entry.sizes)
}

/// All GPU models that GKE partitions, by name.
pub static PARTITION_SIZES: &[PartitionSizes] = &[
    PartitionSizes {
        accelerator: "nvidia-a100-80gb",
        sizes: &[
            ("1g.10gb", 7),
            ("2g.20gb", 3),
            ("3g.40gb", 2),
            ("4g.40gb", 1),
            ("7g.80gb", 1),
        ],
    },
    PartitionSizes {
        accelerator: "nvidia-b200",
        sizes: &[
            ("1g.23gb", 7),
            ("1g.45gb", 4),
            ("2g.45gb", 3),
            ("3g.90gb", 2),
            ("4g.90gb", 1),
            ("7g.180gb", 1),
        ],
    },
    PartitionSizes {
        accelerator: "nvidia-gb200",
        sizes: &[
            ("1g.23gb", 7),
            ("1g.47gb", 4),
            ("2g.47gb", 3),
            ("3g.93gb", 2),
            ("4g.93gb", 1),
            ("7g.186gb", 1),
        ],
    },
    PartitionSizes {
        accelerator: "nvidia-h100-80gb",
        sizes: &[
            ("1g.10gb", 7),
            ("1g.20gb", 4),
            ("2g.20gb", 3),
            ("3g.40gb", 2),
            ("4g.40gb", 1),
            ("7g.80gb", 1),
        ],
    },
    PartitionSizes {
        accelerator: "nvidia-h200-141gb",
        sizes: &[
            ("1g.18gb", 7),
            ("1g.35gb", 4),
            ("2g.35gb", 3),
            ("3g.71gb", 2),
            ("4g.71gb", 1),
            ("7g.141gb", 1),
        ],
    },
    PartitionSizes {
        accelerator: "nvidia-rtx-pro-6000",
        sizes: &[
            ("1g.24gb", 4),
            ("1g.24gb+me", 1),
            ("1g.24gb+gfx", 4),
            ("1g.24gb+me.all", 1),
            ("1g.24gb-me", 4),
            ("2g.48gb", 2),
            ("2g.48gb+gfx", 2),
            ("2g.48gb+me.all", 1),
            ("2g.48gb-me", 2),
            ("4g.96gb", 1),
            ("4g.96gb+gfx", 1),
        ],
    },
    PartitionSizes {
        accelerator: "nvidia-tesla-a100",
        sizes: &[
            ("1g.5gb", 7),
            ("2g.10gb", 3),
            ("3g.20gb", 2),
            ("4g.20gb", 1),
            ("7g.40gb", 1),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::super::machines::MACHINES;
    use super::*;

    /// GKE's table and the MIG tables have different sources and must agree.
    #[test]
    fn sizes_match_the_mig_profiles() {
        assert!(PARTITION_SIZES.is_sorted_by(|a, b| a.accelerator < b.accelerator));
        for PartitionSizes { accelerator, sizes } in PARTITION_SIZES {
            let machine = MACHINES
                .iter()
                .find(|machine| machine.accelerator == *accelerator);
            let mig = machine
                .and_then(|machine| machine.machine.gpus.model.mig)
                .expect(accelerator);
            for (size, count) in *sizes {
                let profile = mig.profile(size).expect(size);
                assert_eq!(profile.max_instances, *count, "{accelerator} {size}");
            }
        }
    }

    #[test]
    fn some_profiles_are_not_supported() {
        let is_available = |accelerator, size| {
            partition_sizes(accelerator)
                .is_some_and(|sizes| sizes.iter().any(|(name, _)| *name == size))
        };
        assert!(is_available("nvidia-tesla-a100", "1g.5gb"));
        assert!(!is_available("nvidia-tesla-a100", "1g.10gb"));
        assert!(partition_sizes("nvidia-l4").is_none());
    }
}
