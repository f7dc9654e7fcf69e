//! Resources that a GKE node reserves for the system.

use gpuc_model::Pool;
use gpuc_model::cloud::reserved::{
    CPU_BANDS, EVICTION, GIB, MIB, NodeSize, Reserved, reserved_by_bands,
};

/// Reserved shares of memory: of the first 4 GiB, the next 4, the next 8, the next 112, and of all above.
const MEMORY_BANDS: &[(u64, u64)] = &[
    (4 * GIB, 2500),
    (8 * GIB, 2000),
    (16 * GIB, 1000),
    (128 * GIB, 600),
    (u64::MAX, 200),
];

/// Resources that a node reserves, by its size.
///
/// The reservation is higher with image streaming, and for cores if a node accepts more than 110 pods. Machine types
/// with shared cores reserve one core.
///
/// Source: <https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes#memory_and_cpu_reservations>, as
/// hatemosphere/gke-node-allocatable-memory-calculator quotes it for memory, read 2026-11-22; of cores from memory.
pub(super) fn reserved_resources(pool: &Pool, size: NodeSize) -> Reserved {
    let machine = pool.machine_name.as_ref();
    let has_shared_cores = machine
        .is_some_and(|machine| matches!(machine.as_str(), "e2-micro" | "e2-small" | "e2-medium"));
    let memory = if size.memory < GIB {
        255 * MIB
    } else {
        reserved_by_bands(size.memory, MEMORY_BANDS)
    };
    Reserved {
        cpu: if has_shared_cores {
            1060
        } else {
            reserved_by_bands(size.cpu, CPU_BANDS)
        },
        memory: memory + EVICTION,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cluster, resolved};
    use super::*;

    fn reserved(machine: &str, memory: u64) -> Reserved {
        let pool = serde_json::json!({"name": "a", "machine": machine, "nodes": {"count": 1}});
        let (cluster, _) = resolved(cluster(&[pool]));
        let pool = cluster.pools.last().expect("the pool");
        reserved_resources(pool, NodeSize { cpu: 2000, memory })
    }

    /// The sums of the bands, and the eviction threshold.
    #[test]
    fn memory_is_reserved_by_bands() {
        for (memory, expected) in [
            (GIB - 1, 255 * MIB),
            (GIB, GIB / 4),
            (4 * GIB, GIB),
            (8 * GIB, GIB + 4 * GIB / 5),
        ] {
            let actual = reserved("e2-medium", memory).memory;
            assert_eq!(actual, expected + EVICTION, "{memory}");
        }
        assert_eq!(reserved("e2-medium", GIB).cpu, 1060);
        assert_eq!(reserved("e2-standard-2", GIB).cpu, 70);
    }
}
