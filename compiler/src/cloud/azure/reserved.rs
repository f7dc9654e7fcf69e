//! What a node of AKS keeps from pods.

use crate::cloud::reserved::{EVICTION, NodeSize, Reserved};
use crate::model::Pool;

/// Cores of a host, and the thousandths of a core that are kept of them. What lies between two rows is not documented:
/// at least as much as of the smaller is kept.
const CORES: &[(u64, u64)] = &[
    (1, 60),
    (2, 100),
    (4, 140),
    (8, 180),
    (16, 260),
    (32, 420),
    (64, 740),
];

/// The fewest pods that a node has room for when nobody says how many: with Azure's network plugin and addresses of
/// the virtual network. Others have 110 or 250.
///
/// Source: <https://learn.microsoft.com/azure/aks/quotas-skus-regions> (from memory).
const PODS: u32 = 30;

/// What a node keeps: by the pods that it may have, and no more than a quarter of its memory.
///
/// Source: <https://learn.microsoft.com/azure/aks/node-resource-reservations>, for Kubernetes 1.29 and later, read
/// 2026-11-22. What it calls MB is taken for a million bytes: the less.
pub(super) fn of_node(pool: &Pool, size: NodeSize) -> Reserved {
    let pods = pool.written.max_pods.map_or(PODS, |it| it.value);
    let mut rows = CORES.iter().rev();
    let cpu = rows.find(|(cores, _)| cores * 1000 <= size.cpu);
    Reserved {
        cpu: cpu.map_or(0, |(_, kept)| *kept),
        memory: memory(pods, size.memory) + EVICTION,
    }
}

fn memory(pods: u32, whole: u64) -> u64 {
    let of_pods = (20 * u64::from(pods) + 50) * 1_000_000;
    of_pods.min(whole / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of AKS' own page.
    #[test]
    fn as_documented() {
        assert_eq!(memory(30, 8_000_000_000), 650_000_000);
        assert_eq!(memory(70, 4_000_000_000), 1_000_000_000);
    }
}
