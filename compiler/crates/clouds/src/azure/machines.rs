//! Azure VM sizes with NVIDIA GPUs.
//!
//! Sources, read 2026-11-21: kubernetes/autoscaler@55c37cd5
//! `cluster-autoscaler/cloudprovider/azure/azure_instance_types.go` (sizes); Azure/karpenter-provider-azure@352646f5
//! `pkg/utils/supported-gpus.yaml` and `gpu.go` (operating systems and drivers of AKS on each size);
//! MicrosoftDocs/azure-compute-docs `articles/virtual-machines/sizes` (GB200, GB300, A10 v5, H100 NVL); its
//! `retirement/retired-sizes-list.md`@0bdc5d34; MicrosoftDocs/azure-aks-docs@fb060abe
//! `articles/aks/gpu-multi-instance.md` (MIG). The machine-readable lists keep retired sizes; this file marks them as
//! retired.

use gpuc_schema::gpu::{
    A10_24GB, A100_PCIE_80GB, A100_SXM4_40GB, A100_SXM4_80GB, GB200_186GB, GB300_279GB, GpuModel,
    H100_NVL_94GB, H100_SXM5_80GB, H200_SXM5_141GB, RTX_PRO_6000_SERVER_96GB, T4_16GB,
    V100_PCIE_16GB, V100_SXM2_32GB,
};

use gpuc_model::cloud::machine::{CpuArchitecture, Fraction, Machine, MachineGpus, Status};

/// An Azure VM size with GPUs.
#[derive(Debug)]
pub struct AzureSize {
    /// Properties common to all clouds.
    pub machine: Machine,
    /// Whether the size has `InfiniBand`.
    pub infiniband: bool,
    /// The driver that AKS installs on the size.
    pub aks_driver: AksDriver,
    /// Whether AKS can enable MIG on its GPUs (`--gpu-instance-profile`).
    pub aks_mig: bool,
    /// Operating systems that AKS supports on the size; empty if AKS does not list the size.
    pub aks_os: &'static [AksOs],
    /// Size of the temporary disk in GiB, if documented.
    pub temp_disk_gib: Option<u32>,
}

/// A driver that AKS installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AksDriver {
    /// NVIDIA's data center driver, from the long-term support branch 580.
    CudaLts,
    /// The GRID driver 570, for virtual GPUs of the A10.
    Grid,
    /// The GRID driver 595, for virtual GPUs of the RTX PRO 6000.
    GridV20,
}

/// An operating system of AKS nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AksOs {
    /// Ubuntu.
    Ubuntu,
    /// Windows.
    Windows,
    /// Azure Linux 2.
    AzureLinux,
    /// Azure Linux 3.
    AzureLinux3,
}

/// A retired size with a GPU model that is not in the catalog.
#[derive(Debug)]
pub struct RetiredSize {
    /// Name of the size.
    pub name: &'static str,
    /// GPU model of the size.
    pub gpus: &'static str,
    /// Date of retirement.
    pub since: &'static str,
    /// Current sizes for the same workloads, closest first.
    pub use_instead: &'static [&'static str],
}

/// The size with this name.
pub fn find(name: &str) -> Option<&'static AzureSize> {
    MACHINES.iter().find(|size| size.machine.name == name)
}

/// All sizes with a GPU model in the catalog, by series, smallest first.
#[rustfmt::skip] // One row per line, to keep the columns readable.
pub static MACHINES: &[AzureSize] = &[
    //  series       name                                    vCPU   GiB  GPUs
    row(NCC_H100,    "Standard_NCC40ads_H100_v5",              40,   320, 1),

    row(NC_A100,     "Standard_NC24ads_A100_v4",               24,   220, 1),
    row(NC_A100,     "Standard_NC48ads_A100_v4",               48,   440, 2),
    row(NC_A100,     "Standard_NC96ads_A100_v4",               96,   880, 4),

    row(NC_RTX_6000, "Standard_NC24lds_xl_RTXPRO6000BSE_v6",   24,    72, 1).fraction_of_unknown_size(),
    row(NC_RTX_6000, "Standard_NC36ds_xl_RTXPRO6000BSE_v6",    36,     0, 1).fraction_of_unknown_size(),
    row(NC_RTX_6000, "Standard_NC36lds_xl_RTXPRO6000BSE_v6",   36,     0, 1).fraction_of_unknown_size(),
    row(NC_RTX_6000, "Standard_NC72ds_xl_RTXPRO6000BSE_v6",    72,     0, 1).fraction_of_unknown_size(),
    row(NC_RTX_6000, "Standard_NC72lds_xl_RTXPRO6000BSE_v6",   72,     0, 1).fraction_of_unknown_size(),
    row(NC_RTX_6000, "Standard_NC144ds_xl_RTXPRO6000BSE_v6",  144,   516, 1),
    row(NC_RTX_6000, "Standard_NC144lds_xl_RTXPRO6000BSE_v6", 144,   264, 1),
    row(NC_RTX_6000, "Standard_NC288ds_xl_RTXPRO6000BSE_v6",  288, 1_032, 2),
    row(NC_RTX_6000, "Standard_NC288lds_xl_RTXPRO6000BSE_v6", 288,   516, 2),

    row(NC_A10,      "Standard_NC8ads_A10_v4",                  8,   100, 1).note(A10_V4_NOTE),
    row(NC_A10,      "Standard_NC16ads_A10_v4",                16,   200, 1),
    row(NC_A10,      "Standard_NC32ads_A10_v4",                32,   400, 2),

    row(NC_H100,     "Standard_NC40ads_H100_v5",               40,   320, 1).temp_disk(3_576),
    row(NC_H100,     "Standard_NC80adis_H100_v5",              80,   640, 2).temp_disk(7_152),

    row(NC_T4,       "Standard_NC4as_T4_v3",                    4,    28, 1),
    row(NC_T4,       "Standard_NC8as_T4_v3",                    8,    56, 1),
    row(NC_T4,       "Standard_NC16as_T4_v3",                  16,   110, 1),
    row(NC_T4,       "Standard_NC64as_T4_v3",                  64,   440, 4),

    row(NC_V100,     "Standard_NC6s_v3",                        6,   112, 1).retired(&["Standard_NC4as_T4_v3", "Standard_NC24ads_A100_v4"]),
    row(NC_V100,     "Standard_NC12s_v3",                      12,   224, 2).retired(&["Standard_NC48ads_A100_v4", "Standard_NC64as_T4_v3"]),
    row(NC_V100,     "Standard_NC24rs_v3",                     24,   448, 4).retired(&["Standard_NC96ads_A100_v4", "Standard_ND96asr_v4"]),
    row(NC_V100,     "Standard_NC24s_v3",                      24,   448, 4).retired(&["Standard_NC64as_T4_v3", "Standard_NC96ads_A100_v4"]),

    row(ND_A100,     "Standard_ND96asr_v4",                    96,   900, 8),

    row(ND_GB200,    "Standard_ND128isr_NDR_GB200_v6",        128,   900, 4).temp_disk(16_000).note(GB200_NOTE),

    row(ND_GB300,    "Standard_ND128isr_GB300_v6",            128,   864, 4).temp_disk(16_000),

    row(ND_H100,     "Standard_ND96isr_H100_v5",               96, 1_900, 8),

    row(ND_H200,     "Standard_ND96isr_H200_v5",               96, 1_850, 8),

    row(NDM_A100,    "Standard_ND96amsr_A100_v4",              96, 1_800, 8),

    row(ND_V100,     "Standard_ND40rs_v2",                     40,   672, 8),

    row(NV_A10,      "Standard_NV6ads_A10_v5",                  6,    55, 1).temp_disk(180).fraction(6, 4_096),
    row(NV_A10,      "Standard_NV12ads_A10_v5",                12,   110, 1).temp_disk(360).fraction(3, 8_192),
    row(NV_A10,      "Standard_NV18ads_A10_v5",                18,   220, 1).temp_disk(720).fraction(2, 12_288),
    row(NV_A10,      "Standard_NV36adms_A10_v5",               36,   880, 1).temp_disk(2_880),
    row(NV_A10,      "Standard_NV36ads_A10_v5",                36,   440, 1).temp_disk(1_440),
    row(NV_A10,      "Standard_NV72ads_A10_v5",                72,   880, 2).temp_disk(2_880),
];

/// All retired sizes with a GPU model from before Pascal.
pub static RETIRED: &[RetiredSize] = &[
    retired_m60(
        "Standard_NV12s_v3",
        &["Standard_NV12ads_A10_v5", "Standard_NV36ads_A10_v5"],
    ),
    retired_m60(
        "Standard_NV24s_v3",
        &["Standard_NV36ads_A10_v5", "Standard_NV72ads_A10_v5"],
    ),
    retired_m60("Standard_NV48s_v3", &["Standard_NV72ads_A10_v5"]),
];

/// Properties common to all sizes of a series.
#[derive(Clone, Copy)]
struct Series {
    name: &'static str,
    model: &'static GpuModel,
    gpu_memory_mib: u32,
    infiniband: bool,
    driver: AksDriver,
    mig: bool,
    systems: &'static [AksOs],
    status: Status,
    note: Option<&'static str>,
    source: &'static str,
}

const NCC_H100: Series = Series {
    name: "NCCads_H100_v5",
    model: &H100_NVL_94GB,
    gpu_memory_mib: 96_256,
    infiniband: false,
    driver: AksDriver::CudaLts,
    mig: false,
    systems: &[],
    status: Status::Current,
    note: Some(CONFIDENTIAL_NOTE),
    source: AUTOSCALER_SOURCE,
};
const NC_A100: Series = Series {
    name: "NC_A100_v4",
    model: &A100_PCIE_80GB,
    gpu_memory_mib: 81_920,
    infiniband: false,
    driver: AksDriver::CudaLts,
    mig: true,
    systems: NEWER_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const NC_RTX_6000: Series = Series {
    name: "NC_RTXPRO6000BSE_v6",
    model: &RTX_PRO_6000_SERVER_96GB,
    gpu_memory_mib: 98_304,
    infiniband: false,
    driver: AksDriver::GridV20,
    mig: false,
    systems: UBUNTU_ONLY,
    status: Status::Preview,
    note: Some(PREVIEW_NOTE),
    source: RTX_SOURCE,
};
const NC_A10: Series = Series {
    name: "NCads_A10_v4",
    model: &A10_24GB,
    gpu_memory_mib: 24_576,
    infiniband: false,
    driver: AksDriver::Grid,
    mig: false,
    systems: NEWER_OS,
    status: Status::Current,
    note: Some(GRID_NOTE),
    source: AUTOSCALER_SOURCE,
};
const NC_H100: Series = Series {
    name: "NCads_H100_v5",
    model: &H100_NVL_94GB,
    gpu_memory_mib: 96_256,
    infiniband: false,
    driver: AksDriver::CudaLts,
    mig: true,
    systems: NEWER_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const NC_T4: Series = Series {
    name: "NCasT4_v3",
    model: &T4_16GB,
    gpu_memory_mib: 16_384,
    infiniband: false,
    driver: AksDriver::CudaLts,
    mig: false,
    systems: ANY_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const NC_V100: Series = Series {
    name: "NCv3",
    model: &V100_PCIE_16GB,
    gpu_memory_mib: 16_384,
    infiniband: false,
    driver: AksDriver::CudaLts,
    mig: false,
    systems: ANY_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const ND_A100: Series = Series {
    name: "ND_A100_v4",
    model: &A100_SXM4_40GB,
    gpu_memory_mib: 40_960,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: true,
    systems: NEWER_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const ND_GB200: Series = Series {
    name: "ND_GB200_v6",
    model: &GB200_186GB,
    gpu_memory_mib: 196_608,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: false,
    systems: UBUNTU_ONLY,
    status: Status::Current,
    note: None,
    source: GB200_DOC,
};
const ND_GB300: Series = Series {
    name: "ND_GB300_v6",
    model: &GB300_279GB,
    gpu_memory_mib: 294_912,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: false,
    systems: UBUNTU_ONLY,
    status: Status::Current,
    note: None,
    source: GB300_DOC,
};
const ND_H100: Series = Series {
    name: "ND_H100_v5",
    model: &H100_SXM5_80GB,
    gpu_memory_mib: 81_920,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: true,
    systems: NEWER_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const ND_H200: Series = Series {
    name: "ND_H200_v5",
    model: &H200_SXM5_141GB,
    gpu_memory_mib: 144_384,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: true,
    systems: NEWER_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const NDM_A100: Series = Series {
    name: "NDm_A100_v4",
    model: &A100_SXM4_80GB,
    gpu_memory_mib: 81_920,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: true,
    systems: NEWER_OS,
    status: Status::Current,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const ND_V100: Series = Series {
    name: "NDv2",
    model: &V100_SXM2_32GB,
    gpu_memory_mib: 32_768,
    infiniband: true,
    driver: AksDriver::CudaLts,
    mig: false,
    systems: ANY_OS,
    status: Status::PreviousGeneration,
    note: None,
    source: AUTOSCALER_SOURCE,
};
const NV_A10: Series = Series {
    name: "NVadsA10_v5",
    model: &A10_24GB,
    gpu_memory_mib: 24_576,
    infiniband: false,
    driver: AksDriver::Grid,
    mig: false,
    systems: NEWER_OS,
    status: Status::Current,
    note: Some(GRID_NOTE),
    source: NV_A10_DOC,
};

const UBUNTU_ONLY: &[AksOs] = &[AksOs::Ubuntu];
const NEWER_OS: &[AksOs] = &[AksOs::Ubuntu, AksOs::Windows, AksOs::AzureLinux3];
const ANY_OS: &[AksOs] = &[
    AksOs::Ubuntu,
    AksOs::Windows,
    AksOs::AzureLinux,
    AksOs::AzureLinux3,
];

const AUTOSCALER_SOURCE: &str =
    "kubernetes/autoscaler:cluster-autoscaler/cloudprovider/azure/azure_instance_types.go@55c37cd5";
const GB200_DOC: &str = "MicrosoftDocs/azure-compute-docs:articles/virtual-machines/sizes/gpu-accelerated/nd-gb200-v6-series.md";
const GB300_DOC: &str = "\
    MicrosoftDocs/azure-compute-docs:articles/virtual-machines/sizes/gpu-accelerated/nd-gb300-v6-series.md \
    (2026-08-12)";
const NV_A10_DOC: &str = "MicrosoftDocs/azure-compute-docs:articles/virtual-machines/sizes/gpu-accelerated/nvadsa10v5-series.md";
const RTX_SOURCE: &str = "\
    Aspire.Hosting.Azure.Kubernetes AksNodeVmSizes 13.3.0-preview; \
    Azure/karpenter-provider-azure:pkg/utils/supported-gpus.yaml@352646f5";

const GB200_NOTE: &str = "its page says 900 GiB, Azure's list of sizes 864 GiB";
const A10_V4_NOTE: &str =
    "may have only a fraction of an A10 (not verified); requires the GRID driver";
const GRID_NOTE: &str = "requires the GRID driver, which cannot be combined with another driver";
const CONFIDENTIAL_NOTE: &str = "a confidential VM; not listed by AKS";
const PREVIEW_NOTE: &str = "in preview; earlier documentation uses other size names";
const FRACTIONAL_PREVIEW_NOTE: &str =
    "in preview; has a fraction of a GPU, whose size is not documented";

const fn retired_m60(name: &'static str, use_instead: &'static [&'static str]) -> RetiredSize {
    RetiredSize {
        name,
        gpus: "NVIDIA Tesla M60",
        since: "2026-09-30",
        use_instead,
    }
}

/// A row of the table; `memory_gib` is 0 if the memory is not documented.
const fn row(
    series: Series,
    name: &'static str,
    vcpus: u32,
    memory_gib: u32,
    count: u32,
) -> AzureSize {
    AzureSize {
        machine: Machine {
            name,
            family: series.name,
            vcpus,
            memory_mib: if memory_gib == 0 {
                None
            } else {
                Some(memory_gib * 1024)
            },
            architecture: if series.model.arm64_host {
                CpuArchitecture::Arm64
            } else {
                CpuArchitecture::Amd64
            },
            gpus: MachineGpus::full_gpus(series.model, count, Some(series.gpu_memory_mib)),
            status: series.status,
            note: series.note,
            source: series.source,
        },
        infiniband: series.infiniband,
        aks_driver: series.driver,
        aks_mig: series.mig,
        aks_os: series.systems,
        temp_disk_gib: None,
    }
}

/// Properties that only some rows have.
impl AzureSize {
    const fn temp_disk(self, gib: u32) -> Self {
        Self {
            temp_disk_gib: Some(gib),
            ..self
        }
    }

    const fn fraction(self, denominator: u32, memory_mib: u32) -> Self {
        let fraction = Fraction {
            numerator: 1,
            denominator,
        };
        let gpus = MachineGpus {
            memory_mib: Some(memory_mib),
            fraction: Some(fraction),
            ..self.machine.gpus
        };
        let machine = Machine {
            gpus,
            ..self.machine
        };
        Self { machine, ..self }
    }

    const fn fraction_of_unknown_size(self) -> Self {
        let gpus = MachineGpus {
            memory_mib: None,
            fraction: Some(Fraction::UNKNOWN),
            ..self.machine.gpus
        };
        let machine = Machine {
            gpus,
            ..self.machine
        };
        Self { machine, ..self }.note(FRACTIONAL_PREVIEW_NOTE)
    }

    const fn retired(self, use_instead: &'static [&'static str]) -> Self {
        let status = Status::Retired {
            since: Some("2025-09-30"),
            use_instead,
        };
        let machine = Machine {
            status,
            ..self.machine
        };
        Self { machine, ..self }
    }

    const fn note(self, note: &'static str) -> Self {
        let machine = Machine {
            note: Some(note),
            ..self.machine
        };
        Self { machine, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(name: &str) -> &'static AzureSize {
        find(name).expect(name)
    }

    #[test]
    fn sizes_are_sorted_by_series_and_size() {
        assert_eq!(MACHINES.len() + RETIRED.len(), 42);
        let order =
            |size: &'static AzureSize| (size.machine.family, size.machine.vcpus, size.machine.name);
        assert!(MACHINES.is_sorted_by(|a, b| order(a) < order(b)));
        assert!(RETIRED.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn retired_v100_sizes_name_their_replacements() {
        let Status::Retired { since, use_instead } = size("Standard_NC6s_v3").machine.status else {
            panic!("Standard_NC6s_v3 is not retired");
        };
        assert_eq!(since, Some("2025-09-30"));
        assert_eq!(
            use_instead,
            ["Standard_NC4as_T4_v3", "Standard_NC24ads_A100_v4"]
        );
        assert_eq!(
            size("Standard_ND40rs_v2").machine.status,
            Status::PreviousGeneration
        );
    }

    #[test]
    fn replacements_are_current_sizes() {
        let named = MACHINES
            .iter()
            .filter_map(|size| match size.machine.status {
                Status::Retired { use_instead, .. } => Some(use_instead),
                _ => None,
            });
        for name in named
            .chain(RETIRED.iter().map(|size| size.use_instead))
            .flatten()
        {
            assert_eq!(size(name).machine.status, Status::Current, "{name}");
        }
    }

    #[test]
    fn well_known_sizes_have_the_right_gpus() {
        for (name, model, count, infiniband, mig) in [
            ("Standard_NC4as_T4_v3", "t4-16gb", 1, false, false),
            ("Standard_NC24ads_A100_v4", "a100-pcie-80gb", 1, false, true),
            ("Standard_NC80adis_H100_v5", "h100-nvl-94gb", 2, false, true),
            ("Standard_ND96asr_v4", "a100-sxm4-40gb", 8, true, true),
            ("Standard_ND96isr_H100_v5", "h100-sxm5-80gb", 8, true, true),
            ("Standard_ND96isr_H200_v5", "h200-sxm5-141gb", 8, true, true),
            ("Standard_ND128isr_GB300_v6", "gb300-279gb", 4, true, false),
        ] {
            let found = size(name);
            let gpus = &found.machine.gpus;
            assert_eq!((gpus.model.key, gpus.count), (model, count));
            assert_eq!(
                (found.infiniband, found.aks_mig),
                (infiniband, mig),
                "{name}"
            );
        }
    }

    #[test]
    fn mig_requires_a_gpu_model_with_mig() {
        for AzureSize {
            machine, aks_mig, ..
        } in MACHINES
        {
            assert!(
                !aks_mig || machine.gpus.model.mig.is_some(),
                "{}",
                machine.name
            );
        }
    }

    #[test]
    fn fractions_of_gpus_are_marked() {
        let fraction = |name| size(name).machine.gpus.fraction;
        let sixth = Fraction {
            numerator: 1,
            denominator: 6,
        };
        assert_eq!(fraction("Standard_NV6ads_A10_v5"), Some(sixth));
        assert_eq!(fraction("Standard_NV36ads_A10_v5"), None);
        assert_eq!(
            fraction("Standard_NC36ds_xl_RTXPRO6000BSE_v6"),
            Some(Fraction::UNKNOWN)
        );
        assert_eq!(size("Standard_NV6ads_A10_v5").aks_driver, AksDriver::Grid);
    }
}
