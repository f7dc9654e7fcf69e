//! Pascal: not supported by CUDA 13.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel};

/// Tesla P100 on PCI Express, 16 GB.
pub static P100_PCIE_16GB: GpuModel = GpuModel {
    key: "p100-pcie-16gb",
    aliases: &["P100"],
    products: &["Tesla-P100-PCIE-16GB"],
    product_basis: Basis::Derived,
    memory_gb: 16,
    memory_mib: 16_384,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Pascal,
    compute_capability: ComputeCapability { major: 6, minor: 0 },
    pci_ids: &[0x15F8_10DE],
    mig: None,
    min_driver_branch: 375,
    max_driver_branch: Some(580),
    max_cuda: Some("12.9"),
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name derived from NVML's naming",
};

/// Tesla P4.
pub static P4_8GB: GpuModel = GpuModel {
    key: "p4-8gb",
    aliases: &["P4"],
    products: &["Tesla-P4"],
    product_basis: Basis::Documented,
    memory_gb: 8,
    memory_mib: 8_192,
    memory_basis: Basis::Nominal,
    architecture: GpuArchitecture::Pascal,
    compute_capability: ComputeCapability { major: 6, minor: 1 },
    pci_ids: &[0x1BB3_10DE],
    mig: None,
    min_driver_branch: 375,
    max_driver_branch: Some(580),
    max_cuda: Some("12.9"),
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "the product name is pci.ids' \"Tesla P4\"",
};
