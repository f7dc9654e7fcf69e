//! Turing: small inference GPUs.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel};

/// T4.
pub static T4_16GB: GpuModel = GpuModel {
    key: "t4-16gb",
    aliases: &["T4"],
    products: &["Tesla-T4"],
    product_basis: Basis::Observed,
    memory_gb: 16,
    memory_mib: 15_360,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Turing,
    compute_capability: ComputeCapability { major: 7, minor: 5 },
    pci_ids: &[0x1EB8_10DE],
    mig: None,
    min_driver_branch: 410,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// T4G, the variant of the T4 for AWS Graviton CPUs.
pub static T4G_16GB: GpuModel = GpuModel {
    key: "t4g-16gb",
    aliases: &["T4G"],
    products: &["NVIDIA-T4G"],
    product_basis: Basis::Derived,
    memory_gb: 16,
    memory_mib: 15_360,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Turing,
    compute_capability: ComputeCapability { major: 7, minor: 5 },
    pci_ids: &[0x1EB4_10DE],
    mig: None,
    min_driver_branch: 470,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: true,
    note: None,
    source: "product name derived from NVML's naming",
};
