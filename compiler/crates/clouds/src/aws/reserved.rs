//! CPU and memory that an EKS node reserves.

use gpuc_model::cloud::reserved::{
    CPU_BANDS, EVICTION, MIB, NodeSize, Reserved, reserved_by_bands,
};
use gpuc_model::{MachineType, Pool};
use gpuc_schema::config::OsFamily;

use super::machines;

/// The minimum of all instance types: `t2.nano` has 4. Of a machine that the catalog does not have no more
/// is known.
///
/// Source: awslabs/amazon-eks-ami@01375496 `nodeadm/internal/kubelet/eni-max-pods.txt` (the number from memory).
const MIN_PODS: u32 = 4;

/// The huge pages that EFA's driver reserves on a node: 5128 pages of 2 MiB, which are not available as memory.
///
/// Source: <https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html>, read 2026-11-21; that they
/// are taken off the memory: kubernetes `pkg/kubelet/nodestatus/setters.go`, `MachineInfo` (from memory).
const HUGE_PAGES_BYTES: u64 = 5128 * 2 * MIB;

/// Whether the node image reserves huge pages for EFA: only images with AWS' EFA driver do. Bottlerocket reserves none
/// by default, and Ubuntu's images have no EFA installer.
///
/// Source: awsdocs/amazon-eks-user-guide ml/node-efa.adoc @0743cb1a, read 2026-11-22; for Ubuntu from memory.
pub(super) fn has_huge_pages(pool: &Pool) -> bool {
    matches!(
        pool.os.value,
        OsFamily::AmazonLinux2023 | OsFamily::AmazonLinux2
    )
}

/// The resources that a node reserves, computed from its pod limit and its cores.
///
/// The images use the pod limit of the instance type or that of the pool: the smaller one gives the lower bound.
///
/// Source: awslabs/amazon-eks-ami@01375496 `nodeadm/internal/kubelet/config.go` (`GetMemoryMebibytesToReserve`,
/// `getCPUMillicoresToReserve`, `EvictionHard`), read 2026-11-22; Bottlerocket does the same (from memory).
pub(super) fn reserved_resources(pool: &Pool, size: NodeSize) -> Reserved {
    let machine_pods = match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => {
            machines::find(machine.name).and_then(|it| it.max_pods)
        }
        _ => None,
    };
    let machine_pods = machine_pods.unwrap_or(MIN_PODS);
    let pool_pods = pool
        .settings
        .max_pods
        .map_or(machine_pods, |pods| pods.value);
    let pods = u64::from(machine_pods.min(pool_pods));
    let pages = if pool.settings.network.efa.is_some() && has_huge_pages(pool) {
        HUGE_PAGES_BYTES
    } else {
        0
    };
    Reserved {
        cpu: reserved_by_bands(size.cpu, CPU_BANDS),
        memory: (11 * pods + 255) * MIB + EVICTION + pages,
    }
}
