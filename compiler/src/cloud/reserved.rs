//! What a node keeps from pods: for the kubelet, the container runtime and the operating system, and the memory below
//! which the kubelet evicts.
//!
//! A cloud documents how it reckons this from a machine's size. What a node really has is a little less again, because
//! a virtual machine never sees all of the memory that it is sold with: these are the least that is kept, so that what
//! they leave is the most that there can be.

/// How large a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// CPU in thousandths of a core.
    pub cpu: u64,
    /// Main memory in bytes.
    pub memory: u64,
}

/// How much is kept from pods.
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

/// The memory below which the kubelet evicts pods where nobody says otherwise: `memory.available<100Mi`.
///
/// Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds>
/// (from memory).
pub const EVICTION: u64 = 100 * MIB;

/// The parts of a core that are kept: of the first, the second, the third and fourth, and of each beyond, in
/// ten-thousandths. EKS and GKE do alike.
pub const CPU_BANDS: &[(u64, u64)] = &[(1000, 600), (2000, 100), (4000, 50), (u64::MAX, 25)];

/// What is kept of an amount, band by band: each band goes up to an amount, and keeps so many ten-thousandths of what
/// lies in it.
pub fn in_bands(amount: u64, bands: &[(u64, u64)]) -> u64 {
    let mut from = 0;
    let mut kept = 0;
    for (to, part) in bands {
        let within = amount.min(*to).saturating_sub(from);
        kept += within / 10_000 * part + within % 10_000 * part / 10_000;
        from = *to;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_band_keeps_its_part() {
        // 60 of the first core, 10 of the second, 10 of the next two, 110 of 44 more.
        for (cores, kept) in [(1, 60), (2, 70), (4, 80), (8, 90), (48, 190), (96, 310)] {
            assert_eq!(in_bands(cores * 1000, CPU_BANDS), kept, "{cores}");
        }
        assert_eq!(in_bands(0, CPU_BANDS), 0);
    }
}
