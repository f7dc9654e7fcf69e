//! Ada Lovelace: inference and graphics GPUs without MIG.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel};

/// L4.
pub static L4_24GB: GpuModel = GpuModel {
    key: "l4-24gb",
    aliases: &["L4"],
    products: &["NVIDIA-L4"],
    product_basis: Basis::Observed,
    memory_gb: 24,
    memory_mib: 23_034,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::AdaLovelace,
    compute_capability: ComputeCapability { major: 8, minor: 9 },
    pci_ids: &[],
    mig: None,
    min_driver_branch: 525,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// L40.
pub static L40_48GB: GpuModel = GpuModel {
    key: "l40-48gb",
    aliases: &["L40"],
    products: &["NVIDIA-L40"],
    product_basis: Basis::Derived,
    memory_gb: 48,
    memory_mib: 46_068,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::AdaLovelace,
    compute_capability: ComputeCapability { major: 8, minor: 9 },
    pci_ids: &[0x26B5_10DE],
    mig: None,
    min_driver_branch: 525,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name derived from NVML's naming",
};

/// L40S.
pub static L40S_48GB: GpuModel = GpuModel {
    key: "l40s-48gb",
    aliases: &["L40S"],
    products: &["NVIDIA-L40S"],
    product_basis: Basis::Observed,
    memory_gb: 48,
    memory_mib: 46_068,
    memory_basis: Basis::Observed,
    architecture: GpuArchitecture::AdaLovelace,
    compute_capability: ComputeCapability { major: 8, minor: 9 },
    pci_ids: &[0x26B9_10DE],
    mig: None,
    min_driver_branch: 535,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product and memory observed",
};
