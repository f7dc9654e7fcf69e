//! The links between the GPUs of a machine.

use gpuc_schema::gpu::{GpuArchitecture, GpuModel};

use crate::nvml::{CommonAncestor, Link};

/// The NVLinks between the eight GPUs of a V100 board, as `nvidia-smi topo -m` prints them on a DGX-1 and on
/// AWS's p3.16xlarge: six on each GPU, a cube whose corners have one or two links.
const CUBE_MESH: [[u32; 8]; 8] = [
    [0, 1, 1, 2, 2, 0, 0, 0],
    [1, 0, 2, 1, 0, 2, 0, 0],
    [1, 2, 0, 2, 0, 0, 1, 0],
    [2, 1, 2, 0, 0, 0, 0, 1],
    [2, 0, 0, 0, 0, 1, 1, 2],
    [0, 2, 0, 0, 1, 0, 2, 1],
    [0, 0, 1, 0, 1, 2, 0, 2],
    [0, 0, 0, 1, 2, 1, 2, 0],
];

/// Returns the NUMA node of a GPU: a machine has two processors, each with half of the GPUs.
pub(super) fn numa_node(index: u32, count: u32) -> u32 {
    u32::from(count > 1 && index >= count.div_ceil(2))
}

/// Returns the link between two GPUs of a machine.
pub(super) fn link(one: (u32, &GpuModel), other: (u32, &GpuModel), count: u32) -> Link {
    let (first, second) = (one.0, other.0);
    if first == second {
        return Link {
            meet: CommonAncestor::Board,
            nvlinks: 0,
        };
    }
    let meet = if numa_node(first, count) != numa_node(second, count) {
        CommonAncestor::System
    } else if first / 2 != second / 2 {
        CommonAncestor::Processor
    } else if has_nvlink_board(one.1) {
        CommonAncestor::Switches
    } else {
        CommonAncestor::HostBridge
    };
    let nvlinks = if one.1.key == other.1.key {
        nvlinks(one.1, first, second)
    } else {
        0
    };
    Link { meet, nvlinks }
}

/// Whether the GPU model is part of a board with NVLinks.
fn has_nvlink_board(model: &GpuModel) -> bool {
    ["-sxm", "gb200", "gb300"]
        .iter()
        .any(|word| model.key.contains(word))
}

/// Returns the links of each GPU to the switches (NVIDIA's data sheets: 12 on the A100, 18 from the H100 on), for GPUs
/// on a board; those of the bridge between two GPUs of an NVL pair.
fn nvlinks(model: &GpuModel, first: u32, second: u32) -> u32 {
    if model.key.contains("-nvl-") {
        return if first / 2 == second / 2 { 12 } else { 0 };
    }
    if !has_nvlink_board(model) {
        return 0;
    }
    match model.architecture {
        GpuArchitecture::Volta if first / 8 == second / 8 => {
            let to_index = |index: u32| usize::try_from(index % 8).unwrap_or_default();
            CUBE_MESH[to_index(first)][to_index(second)]
        }
        GpuArchitecture::Ampere => 12,
        GpuArchitecture::Hopper | GpuArchitecture::Blackwell => 18,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_mesh_has_six_symmetric_links_per_gpu() {
        for (index, row) in CUBE_MESH.iter().enumerate() {
            assert_eq!(row.iter().sum::<u32>(), 6);
            for (other, links) in row.iter().enumerate() {
                assert_eq!(*links, CUBE_MESH[other][index]);
            }
        }
    }
}
