//! Volta: the three variants of the V100. Not supported by CUDA 13.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel};

/// V100 on PCI Express, 16 GB.
pub static V100_PCIE_16GB: GpuModel = GpuModel {
    key: "v100-pcie-16gb",
    aliases: &["V100", "V100-PCIE"],
    products: &["Tesla-V100-PCIE-16GB"],
    product_basis: Basis::Derived,
    memory_gb: 16,
    memory_mib: 16_384,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Volta,
    compute_capability: ComputeCapability { major: 7, minor: 0 },
    pci_ids: &[0x1DB4_10DE],
    mig: None,
    min_driver_branch: 384,
    max_driver_branch: Some(580),
    max_cuda: Some("12.9"),
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name derived from NVML's naming",
};

/// V100 on SXM2, 16 GB.
pub static V100_SXM2_16GB: GpuModel = GpuModel {
    key: "v100-sxm2-16gb",
    aliases: &["V100"],
    products: &["Tesla-V100-SXM2-16GB", "NVIDIA-V100-SXM2-16GB"],
    product_basis: Basis::Observed,
    memory_gb: 16,
    memory_mib: 16_384,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Volta,
    compute_capability: ComputeCapability { major: 7, minor: 0 },
    pci_ids: &[0x1DB1_10DE, 0x1DF5_10DE],
    mig: None,
    min_driver_branch: 384,
    max_driver_branch: Some(580),
    max_cuda: Some("12.9"),
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product names from the repositories of Kueue, HAMi and the device plugin",
};

/// V100 on SXM2, 32 GB.
pub static V100_SXM2_32GB: GpuModel = GpuModel {
    key: "v100-sxm2-32gb",
    aliases: &["V100", "V100-32GB"],
    products: &["Tesla-V100-SXM2-32GB"],
    product_basis: Basis::Observed,
    memory_gb: 32,
    memory_mib: 32_768,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Volta,
    compute_capability: ComputeCapability { major: 7, minor: 0 },
    pci_ids: &[0x1DB5_10DE],
    mig: None,
    min_driver_branch: 396,
    max_driver_branch: Some(580),
    max_cuda: Some("12.9"),
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};
