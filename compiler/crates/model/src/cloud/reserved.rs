//! Resources that a node reserves for the kubelet, the container runtime and the operating system, and the memory of
//! the eviction threshold.
//!
//! Clouds document how they compute them from the size of a machine. A node has slightly less than computed, because a
//! virtual machine never sees all of its nominal memory. The values are lower bounds of the reservations, so the rest
//! is an upper bound of the allocatable resources.

/// The size of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// CPU in thousandths of a core.
    pub cpu: u64,
    /// Main memory in bytes.
    pub memory: u64,
}

/// Reserved resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// CPU in thousandths of a core.
    pub cpu: u64,
    /// Main memory in bytes.
    pub memory: u64,
}

/// A MiB in bytes.
pub const MIB: u64 = 1 << 20;

/// A GiB in bytes.
pub const GIB: u64 = 1 << 30;

/// The default eviction threshold of the kubelet: `memory.available<100Mi`.
///
/// Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds>
/// (from memory).
pub const EVICTION: u64 = 100 * MIB;

/// The reserved part of a core, in ten-thousandths: of the first, the second, the third and fourth, and of all others.
/// EKS and GKE use the same values.
pub const CPU_BANDS: &[(u64, u64)] = &[(1000, 600), (2000, 100), (4000, 50), (u64::MAX, 25)];

/// The reserved part of an amount, computed in bands: each band has an upper end, and the reserved part within it in
/// ten-thousandths.
pub fn reserved_by_bands(amount: u64, bands: &[(u64, u64)]) -> u64 {
    let mut from = 0;
    let mut reserved = 0;
    for (to, rate) in bands {
        let within = amount.min(*to).saturating_sub(from);
        reserved += within / 10_000 * rate + within % 10_000 * rate / 10_000;
        from = *to;
    }
    reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_band_reserves_its_fraction() {
        // 60 of the first core, 10 of the second, 10 of the next two, 110 of 44 more.
        for (cores, reserved) in [(1, 60), (2, 70), (4, 80), (8, 90), (48, 190), (96, 310)] {
            assert_eq!(
                reserved_by_bands(cores * 1000, CPU_BANDS),
                reserved,
                "{cores}"
            );
        }
        assert_eq!(reserved_by_bands(0, CPU_BANDS), 0);
    }
}
