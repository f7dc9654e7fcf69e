//! What a node of EKS keeps from pods.

use super::machines;
use crate::cloud::reserved::{CPU_BANDS, EVICTION, MIB, NodeSize, Reserved, in_bands};
use crate::model::{MachineType, Pool};
use gpuc_schema::config::OsFamily;

/// The fewest pods that any instance type takes: `t2.nano` has 4. Of a machine that the catalog does not have no more
/// is known.
///
/// Source: awslabs/amazon-eks-ami@01375496 `nodeadm/internal/kubelet/eni-max-pods.txt` (the number from memory).
const FEWEST_PODS: u32 = 4;

/// What EFA's driver keeps on a node: 5128 pages of 2 MiB, which are no memory for pods any more.
///
/// Source: <https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html>, read 2026-11-21; that they
/// are taken off the memory: kubernetes `pkg/kubelet/nodestatus/setters.go`, `MachineInfo` (from memory).
const HUGE_PAGES: u64 = 5128 * 2 * MIB;

/// What a node keeps: by the pods that it may have, and by its cores.
///
/// The images count the pods of the instance type, or those that the pool says: the fewer of both is the least.
///
/// Source: awslabs/amazon-eks-ami@01375496 `nodeadm/internal/kubelet/config.go` (`GetMemoryMebibytesToReserve`,
/// `getCPUMillicoresToReserve`, `EvictionHard`), read 2026-11-22; Bottlerocket does the same (from memory).
pub(super) fn of_node(pool: &Pool, size: NodeSize) -> Reserved {
    let of_machine = match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => {
            machines::find(machine.name).and_then(|it| it.max_pods)
        }
        _ => None,
    };
    let pods = of_machine.unwrap_or(FEWEST_PODS);
    let written = pool.written.max_pods.map_or(pods, |it| it.value);
    let pods = u64::from(pods.min(written));
    let has_pages = pool.written.network.efa.is_some() && pool.os.value != OsFamily::Bottlerocket;
    let pages = if has_pages { HUGE_PAGES } else { 0 };
    Reserved {
        cpu: in_bands(size.cpu, CPU_BANDS),
        memory: (11 * pods + 255) * MIB + EVICTION + pages,
    }
}
