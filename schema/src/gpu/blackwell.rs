//! Blackwell, including Blackwell Ultra: data center and RTX PRO GPUs, and Grace Blackwell.

use super::{Basis, ComputeCapability, GpuArchitecture, GpuModel, mig_tables};

/// B200.
pub static B200_SXM6_180GB: GpuModel = GpuModel {
    key: "b200-sxm6-180gb",
    aliases: &["B200"],
    products: &["NVIDIA-B200"],
    product_basis: Basis::Observed,
    memory_gb: 180,
    memory_mib: 183_359,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Blackwell,
    compute_capability: ComputeCapability {
        major: 10,
        minor: 0,
    },
    pci_ids: &[0x2901_10DE],
    mig: Some(&mig_tables::B200_180GB),
    min_driver_branch: 570,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: true,
    arm64_host: false,
    note: None,
    source: "product name observed",
};

/// B300, Blackwell Ultra.
pub static B300_SXM6_270GB: GpuModel = GpuModel {
    key: "b300-sxm6-270gb",
    aliases: &["B300"],
    products: &["NVIDIA-B300-SXM6-AC"],
    product_basis: Basis::Derived,
    memory_gb: 270,
    memory_mib: 275_040,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Blackwell,
    compute_capability: ComputeCapability {
        major: 10,
        minor: 3,
    },
    pci_ids: &[0x3182_10DE],
    mig: Some(&mig_tables::B300_270GB),
    min_driver_branch: 580,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: true,
    arm64_host: false,
    note: None,
    source: "product name derived, low confidence",
};

/// GB200: Blackwell with a Grace CPU.
pub static GB200_186GB: GpuModel = GpuModel {
    key: "gb200-186gb",
    aliases: &["GB200"],
    products: &["NVIDIA-GB200"],
    product_basis: Basis::Observed,
    memory_gb: 186,
    memory_mib: 189_471,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Blackwell,
    compute_capability: ComputeCapability {
        major: 10,
        minor: 0,
    },
    pci_ids: &[0x2941_10DE],
    mig: Some(&mig_tables::GB200_186GB),
    min_driver_branch: 570,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: true,
    arm64_host: true,
    note: Some("mig-parted also has profile names for 189 GB: 7g.189gb, 4g.95gb, 3g.95gb"),
    source: "product name observed",
};

/// GB300: Blackwell Ultra with a Grace CPU.
pub static GB300_279GB: GpuModel = GpuModel {
    key: "gb300-279gb",
    aliases: &["GB300"],
    products: &["NVIDIA-GB300"],
    product_basis: Basis::Derived,
    memory_gb: 279,
    memory_mib: 285_696,
    memory_basis: Basis::Nominal,
    architecture: GpuArchitecture::Blackwell,
    compute_capability: ComputeCapability {
        major: 10,
        minor: 3,
    },
    pci_ids: &[0x31C2_10DE],
    mig: Some(&mig_tables::GB300_279GB),
    min_driver_branch: 580,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: true,
    arm64_host: true,
    note: None,
    source: "product name derived, low confidence",
};

/// RTX PRO 4500 Blackwell Server Edition.
pub static RTX_PRO_4500_SERVER_32GB: GpuModel = GpuModel {
    key: "rtx-pro-4500-server-32gb",
    aliases: &["RTX-PRO-4500"],
    products: &["NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition"],
    product_basis: Basis::Derived,
    memory_gb: 32,
    memory_mib: 32_768,
    memory_basis: Basis::Nominal,
    architecture: GpuArchitecture::Blackwell,
    compute_capability: ComputeCapability {
        major: 12,
        minor: 0,
    },
    pci_ids: &[],
    mig: None,
    min_driver_branch: 580,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: true,
    arm64_host: false,
    note: Some(
        "the MIG User Guide r610 lists it as MIG capable (2 instances), but no profile names are known: no MIG here",
    ),
    source: "product name derived, low confidence",
};

/// RTX PRO 6000 Blackwell Server Edition.
pub static RTX_PRO_6000_SERVER_96GB: GpuModel = GpuModel {
    key: "rtx-pro-6000-server-96gb",
    aliases: &["RTX-PRO-6000"],
    products: &["NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"],
    product_basis: Basis::Observed,
    memory_gb: 96,
    memory_mib: 97_887,
    memory_basis: Basis::General,
    architecture: GpuArchitecture::Blackwell,
    compute_capability: ComputeCapability {
        major: 12,
        minor: 0,
    },
    pci_ids: &[0x2BB5_10DE],
    mig: Some(&mig_tables::RTX_PRO_6000),
    min_driver_branch: 575,
    max_driver_branch: None,
    max_cuda: None,
    open_kernel_modules: true,
    arm64_host: false,
    note: None,
    source: "product name from third-party code",
};
