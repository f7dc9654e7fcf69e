//! Resources that an AKS node reserves for the system.

use gpuc_model::Pool;
use gpuc_model::cloud::reserved::{EVICTION, NodeSize, Reserved};

/// Cores of a host, and the reserved millicores. Values between two rows are not documented: at least the reservation
/// of the smaller row applies.
const CPU_BY_CORES: &[(u64, u64)] = &[
    (1, 60),
    (2, 100),
    (4, 140),
    (8, 180),
    (16, 260),
    (32, 420),
    (64, 740),
];

/// Minimum number of pods per node if `maxPods` is not set: with Azure's network plugin and addresses of the virtual
/// network. Other configurations allow 110 or 250.
///
/// Source: <https://learn.microsoft.com/azure/aks/quotas-skus-regions> (from memory).
const MIN_MAX_PODS: u32 = 30;

/// Resources that a node reserves: they depend on its maximum number of pods, and use at most a quarter of its memory.
///
/// Source: <https://learn.microsoft.com/azure/aks/node-resource-reservations>, for Kubernetes 1.29 and later, read
/// 2026-11-22. Its MB are counted as a million bytes, the lower value.
pub(super) fn reserved_resources(pool: &Pool, size: NodeSize) -> Reserved {
    let pods = pool
        .settings
        .max_pods
        .map_or(MIN_MAX_PODS, |pods| pods.value);
    let mut rows = CPU_BY_CORES.iter().rev();
    let cpu = rows.find(|(cores, _)| cores * 1000 <= size.cpu);
    Reserved {
        cpu: cpu.map_or(0, |(_, millicores)| *millicores),
        memory: reserved_memory(pods, size.memory) + EVICTION,
    }
}

fn reserved_memory(pods: u32, total: u64) -> u64 {
    let for_pods = (20 * u64::from(pods) + 50) * 1_000_000;
    for_pods.min(total / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the AKS documentation.
    #[test]
    fn memory_matches_documented_examples() {
        assert_eq!(reserved_memory(30, 8_000_000_000), 650_000_000);
        assert_eq!(reserved_memory(70, 4_000_000_000), 1_000_000_000);
    }
}
