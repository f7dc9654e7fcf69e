//! Ampere: the first GPU models with MIG (A100, A30), and the A10 and A10G without MIG.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel, mig_tables};

/// A10.
pub static A10_24GB: GpuModel = GpuModel {
    key: "a10-24gb",
    aliases: &["A10"],
    products: &["NVIDIA-A10"],
    product_basis: Basis::Derived,
    memory_gb: 24,
    memory_mib: 23_028,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 6 },
    pci_ids: &[],
    mig: None,
    min_driver_branch: 460,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: Some(
        "Azure also offers it as virtual GPUs (product names end in -4Q, -8Q, -12Q, -24Q), which need the GRID driver",
    ),
    source: "product name derived from NVML's naming",
};

/// A100 on PCI Express, 40 GB.
pub static A100_PCIE_40GB: GpuModel = GpuModel {
    key: "a100-pcie-40gb",
    aliases: &["A100", "A100-PCIE-40GB"],
    products: &["NVIDIA-A100-PCIE-40GB"],
    product_basis: Basis::Documented,
    memory_gb: 40,
    memory_mib: 40_960,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 0 },
    pci_ids: &[0x20F1_10DE],
    mig: Some(&mig_tables::A100_40GB),
    min_driver_branch: 450,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "the product name is go-nvml's",
};

/// A100 on PCI Express, 80 GB.
pub static A100_PCIE_80GB: GpuModel = GpuModel {
    key: "a100-pcie-80gb",
    aliases: &["A100", "A100-80GB-PCIE"],
    products: &["NVIDIA-A100-80GB-PCIe"],
    product_basis: Basis::Derived,
    memory_gb: 80,
    memory_mib: 81_920,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 0 },
    pci_ids: &[0x20B5_10DE],
    mig: Some(&mig_tables::A100_80GB),
    min_driver_branch: 470,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "nvidia-smi prints \"NVIDIA A100 80GB PCIe\", go-nvml's mock says \"NVIDIA A100-PCIE-80GB\"",
};

/// A100 on SXM4, 40 GB.
pub static A100_SXM4_40GB: GpuModel = GpuModel {
    key: "a100-sxm4-40gb",
    aliases: &["A100", "A100-40GB"],
    products: &["NVIDIA-A100-SXM4-40GB"],
    product_basis: Basis::Observed,
    memory_gb: 40,
    memory_mib: 40_960,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 0 },
    pci_ids: &[0x20B0_10DE],
    mig: Some(&mig_tables::A100_40GB),
    min_driver_branch: 450,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// A100 on SXM4, 80 GB.
pub static A100_SXM4_80GB: GpuModel = GpuModel {
    key: "a100-sxm4-80gb",
    aliases: &["A100", "A100-80GB"],
    products: &["NVIDIA-A100-SXM4-80GB"],
    product_basis: Basis::Observed,
    memory_gb: 80,
    memory_mib: 81_920,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 0 },
    pci_ids: &[0x20B2_10DE],
    mig: Some(&mig_tables::A100_80GB),
    min_driver_branch: 450,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// A10G, the variant of the A10 on AWS.
pub static A10G_24GB: GpuModel = GpuModel {
    key: "a10g-24gb",
    aliases: &["A10G"],
    products: &["NVIDIA-A10G"],
    product_basis: Basis::Observed,
    memory_gb: 24,
    memory_mib: 23_028,
    memory_basis: Basis::Observed,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 6 },
    pci_ids: &[0x2237_10DE],
    mig: None,
    min_driver_branch: 470,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: None,
    source: "product and memory observed on g5.2xlarge",
};

/// A30.
pub static A30_24GB: GpuModel = GpuModel {
    key: "a30-24gb",
    aliases: &["A30"],
    products: &["NVIDIA-A30"],
    product_basis: Basis::Derived,
    memory_gb: 24,
    memory_mib: 24_576,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Ampere,
    compute_capability: ComputeCapability { major: 8, minor: 0 },
    pci_ids: &[0x20B7_10DE],
    mig: Some(&mig_tables::A30),
    min_driver_branch: 460,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: false,
    arm64_host: false,
    note: Some("1g.6gb+me needs driver branch 470, 2g.12gb+me needs 525"),
    source: "go-nvml's mock says \"NVIDIA A30-PCIE-24GB\"",
};
