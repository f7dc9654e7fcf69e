//! Hopper: the variants of H100 and H200, and Grace Hopper.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel, mig_tables};

/// GH200: a Hopper GPU with 96 GB and a Grace CPU.
pub static GH200_96GB: GpuModel = GpuModel {
    key: "gh200-96gb",
    aliases: &["GH200"],
    products: &["NVIDIA-GH200-480GB"],
    product_basis: Basis::Derived,
    memory_gb: 96,
    memory_mib: 97_871,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Hopper,
    compute_capability: ComputeCapability { major: 9, minor: 0 },
    pci_ids: &[0x2342_10DE],
    mig: Some(&mig_tables::GH200_96GB),
    min_driver_branch: 535,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: true,
    note: None,
    source: "product name derived from NVML's naming",
};

/// H100 NVL.
pub static H100_NVL_94GB: GpuModel = GpuModel {
    key: "h100-nvl-94gb",
    aliases: &["H100-NVL"],
    products: &["NVIDIA-H100-NVL"],
    product_basis: Basis::Observed,
    memory_gb: 94,
    memory_mib: 95_830,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Hopper,
    compute_capability: ComputeCapability { major: 9, minor: 0 },
    pci_ids: &[0x2321_10DE],
    mig: Some(&mig_tables::H100_94GB),
    min_driver_branch: 535,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// H100 on PCI Express.
pub static H100_PCIE_80GB: GpuModel = GpuModel {
    key: "h100-pcie-80gb",
    aliases: &["H100-PCIE"],
    products: &["NVIDIA-H100-PCIe"],
    product_basis: Basis::Observed,
    memory_gb: 80,
    memory_mib: 81_559,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Hopper,
    compute_capability: ComputeCapability { major: 9, minor: 0 },
    pci_ids: &[0x2331_10DE],
    mig: Some(&mig_tables::H100_80GB),
    min_driver_branch: 525,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// H100 on SXM5.
pub static H100_SXM5_80GB: GpuModel = GpuModel {
    key: "h100-sxm5-80gb",
    aliases: &["H100", "H100-80GB"],
    products: &["NVIDIA-H100-80GB-HBM3"],
    product_basis: Basis::Observed,
    memory_gb: 80,
    memory_mib: 81_559,
    memory_basis: Basis::Observed,
    architecture: GpuArchitecture::Hopper,
    compute_capability: ComputeCapability { major: 9, minor: 0 },
    pci_ids: &[0x2330_10DE],
    mig: Some(&mig_tables::H100_80GB),
    min_driver_branch: 525,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// H200 NVL.
pub static H200_NVL_141GB: GpuModel = GpuModel {
    key: "h200-nvl-141gb",
    aliases: &["H200-NVL"],
    products: &["NVIDIA-H200-NVL"],
    product_basis: Basis::Derived,
    memory_gb: 141,
    memory_mib: 143_771,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Hopper,
    compute_capability: ComputeCapability { major: 9, minor: 0 },
    pci_ids: &[0x233B_10DE],
    mig: Some(&mig_tables::H200_141GB),
    min_driver_branch: 565,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name derived from NVML's naming",
};

/// H200 on SXM5.
pub static H200_SXM5_141GB: GpuModel = GpuModel {
    key: "h200-sxm5-141gb",
    aliases: &["H200"],
    products: &["NVIDIA-H200"],
    product_basis: Basis::Observed,
    memory_gb: 141,
    memory_mib: 143_771,
    memory_basis: Basis::Observed,
    architecture: GpuArchitecture::Hopper,
    compute_capability: ComputeCapability { major: 9, minor: 0 },
    pci_ids: &[0x2335_10DE],
    mig: Some(&mig_tables::H200_141GB),
    min_driver_branch: 535,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};
