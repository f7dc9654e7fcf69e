//! Compute Engine machine types with GPUs (the accelerator-optimized families).
//!
//! Sources, read 2026-11-21: Cyclenerd/google-cloud-pricing-cost-calculator@dac3128 `tools/machinetypes.csv` and
//! `tools/acceleratortypes.csv`, a dump of gcloud's lists (vCPU, memory, accelerators);
//! GoogleCloudPlatform/cluster-toolkit@10470803 `examples/gke-a4x-max-bm` (GB300) and
//! `modules/compute/gke-node-pool/disk_definitions.tf` (local SSDs). The number of GPUs is the name's `-Ng`; for G2 and
//! G4 it is from public tables.

use gpuc_schema::gpu::{
    A100_SXM4_40GB, A100_SXM4_80GB, B200_SXM6_180GB, GB200_186GB, GB300_279GB, GpuModel,
    H100_SXM5_80GB, H200_SXM5_141GB, L4_24GB, RTX_PRO_6000_SERVER_96GB,
};

use gpuc_model::cloud::machine::{CpuArchitecture, Fraction, Machine, MachineGpus, Status};

/// A machine type with GPUs.
#[derive(Debug)]
pub struct GcpMachine {
    /// Properties common to all clouds.
    pub machine: Machine,
    /// Google's name for the GPU model: the value of `--accelerator type=` and of the label
    /// `cloud.google.com/gke-accelerator`.
    pub accelerator: &'static str,
    /// Number of local SSDs, if documented.
    pub local_ssd_count: Option<u32>,
    /// Total size of its local SSDs in GB, if documented.
    pub local_ssd_gb: Option<u32>,
    /// Its GPUDirect technology, if documented.
    pub gpudirect: Option<GpuDirect>,
}

/// A technology for direct communication between GPUs of different machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuDirect {
    /// `GPUDirect-TCPX`, of A3 High.
    Tcpx,
    /// `GPUDirect-TCPXO`, of A3 Mega.
    Tcpxo,
    /// `GPUDirect` RDMA, from A3 Ultra on.
    Rdma,
}

/// The machine type with this name.
pub fn find(name: &str) -> Option<&'static GcpMachine> {
    MACHINES.iter().find(|machine| machine.machine.name == name)
}

/// All machine types with GPUs, by family and kind, smallest first.
#[rustfmt::skip] // One row per line, to keep the columns readable.
pub static MACHINES: &[GcpMachine] = &[
    //  name                     vCPU   GiB  GPU    count
    row("a2-highgpu-1g",           12,    85, A100,       1),
    row("a2-highgpu-2g",           24,   170, A100,       2),
    row("a2-highgpu-4g",           48,   340, A100,       4),
    row("a2-highgpu-8g",           96,   680, A100,       8),
    row("a2-megagpu-16g",          96, 1_360, A100,      16),
    row("a2-ultragpu-1g",          12,   170, A100_80,    1).ssd_gb(375),
    row("a2-ultragpu-2g",          24,   340, A100_80,    2).ssd_gb(750),
    row("a2-ultragpu-4g",          48,   680, A100_80,    4).ssd_gb(1_500),
    row("a2-ultragpu-8g",          96, 1_360, A100_80,    8).ssd_gb(3_000),

    row("a3-edgegpu-8g",          208, 1_872, H100,       8),
    row("a3-edgegpu-8g-nolssd",   208, 1_872, H100,       8),
    row("a3-highgpu-1g",           26,   234, H100,       1),
    row("a3-highgpu-2g",           52,   468, H100,       2),
    row("a3-highgpu-4g",          104,   936, H100,       4),
    row("a3-highgpu-8g",          208, 1_872, H100,       8).ssd(16, 6_000).gpudirect(GpuDirect::Tcpx),
    row("a3-megagpu-8g",          208, 1_872, H100_MEGA,  8).ssd(16, 6_000).gpudirect(GpuDirect::Tcpxo),
    row("a3-ultragpu-8g",         224, 2_952, H200,       8).ssd_count(32).gpudirect(GpuDirect::Rdma),
    row("a3-ultragpu-8g-nolssd",  224, 2_952, H200,       8).gpudirect(GpuDirect::Rdma),

    row("a4-highgpu-8g",          224, 3_968, B200,       8).ssd_count(32).gpudirect(GpuDirect::Rdma),

    row("a4x-highgpu-4g",         140,   884, GB200,      4).gpudirect(GpuDirect::Rdma),
    row("a4x-maxgpu-4g-metal",    144,   960, GB300,      4).gpudirect(GpuDirect::Rdma),

    row("g2-standard-4",            4,    16, L4,         1),
    row("g2-standard-8",            8,    32, L4,         1),
    row("g2-standard-12",          12,    48, L4,         1),
    row("g2-standard-16",          16,    64, L4,         1),
    row("g2-standard-24",          24,    96, L4,         2),
    row("g2-standard-32",          32,   128, L4,         1),
    row("g2-standard-48",          48,   192, L4,         4),
    row("g2-standard-96",          96,   384, L4,         8),

    row("g4-standard-6",            6,    22, RTX_6000,   1).fraction(8),
    row("g4-standard-12",          12,    45, RTX_6000,   1).fraction(4),
    row("g4-standard-24",          24,    90, RTX_6000,   1).fraction(2),
    row("g4-standard-48",          48,   180, RTX_6000,   1),
    row("g4-standard-96",          96,   360, RTX_6000,   2),
    row("g4-standard-192",        192,   720, RTX_6000,   4),
    row("g4-standard-384",        384, 1_440, RTX_6000,   8),
];

/// Google's name for a GPU model, and the GPU model.
#[derive(Clone, Copy)]
struct GpuSpec(&'static str, &'static GpuModel);

const A100_80: GpuSpec = GpuSpec("nvidia-a100-80gb", &A100_SXM4_80GB);
const B200: GpuSpec = GpuSpec("nvidia-b200", &B200_SXM6_180GB);
const GB200: GpuSpec = GpuSpec("nvidia-gb200", &GB200_186GB);
const GB300: GpuSpec = GpuSpec("nvidia-gb300", &GB300_279GB);
const H100: GpuSpec = GpuSpec("nvidia-h100-80gb", &H100_SXM5_80GB);
const H100_MEGA: GpuSpec = GpuSpec("nvidia-h100-mega-80gb", &H100_SXM5_80GB);
const H200: GpuSpec = GpuSpec("nvidia-h200-141gb", &H200_SXM5_141GB);
const L4: GpuSpec = GpuSpec("nvidia-l4", &L4_24GB);
const RTX_6000: GpuSpec = GpuSpec("nvidia-rtx-pro-6000", &RTX_PRO_6000_SERVER_96GB);
const A100: GpuSpec = GpuSpec("nvidia-tesla-a100", &A100_SXM4_40GB);

const GCLOUD_SOURCE: &str =
    "Cyclenerd/google-cloud-pricing-cost-calculator:tools/machinetypes.csv@dac3128 (2026-08-20)";
const FRACTIONAL_NOTE: &str =
    "has a fraction of a GPU; the name of its accelerator and the support by GKE are not verified";

/// A row of the table.
const fn row(
    name: &'static str,
    vcpus: u32,
    memory_gib: u32,
    gpu: GpuSpec,
    count: u32,
) -> GcpMachine {
    let architecture = if gpu.1.arm64_host {
        CpuArchitecture::Arm64
    } else {
        CpuArchitecture::Amd64
    };
    GcpMachine {
        machine: Machine {
            name,
            family: family(name),
            vcpus,
            memory_mib: Some(memory_gib * 1024),
            architecture,
            gpus: MachineGpus::full_gpus(gpu.1, count, None),
            status: Status::Current,
            note: None,
            source: GCLOUD_SOURCE,
        },
        accelerator: gpu.0,
        local_ssd_count: None,
        local_ssd_gb: None,
        gpudirect: None,
    }
}

/// The family of a machine type: `a2` in `a2-highgpu-1g`.
const fn family(name: &'static str) -> &'static str {
    let mut hyphen = 0;
    while name.as_bytes()[hyphen] != b'-' {
        hyphen += 1;
    }
    name.split_at(hyphen).0
}

/// Properties that only some rows have.
impl GcpMachine {
    const fn ssd(self, count: u32, gb: u32) -> Self {
        self.ssd_count(count).ssd_gb(gb)
    }

    const fn ssd_count(self, count: u32) -> Self {
        Self {
            local_ssd_count: Some(count),
            ..self
        }
    }

    const fn ssd_gb(self, gb: u32) -> Self {
        Self {
            local_ssd_gb: Some(gb),
            ..self
        }
    }

    const fn gpudirect(self, gpudirect: GpuDirect) -> Self {
        Self {
            gpudirect: Some(gpudirect),
            ..self
        }
    }

    const fn fraction(self, denominator: u32) -> Self {
        let gpus = MachineGpus {
            fraction: Some(Fraction {
                numerator: 1,
                denominator,
            }),
            ..self.machine.gpus
        };
        let machine = Machine {
            gpus,
            note: Some(FRACTIONAL_NOTE),
            ..self.machine
        };
        Self { machine, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_sorted_by_family_kind_and_size() {
        assert_eq!(MACHINES.len(), 36);
        let order = |row: &'static GcpMachine| {
            let kind = row.machine.name.split('-').nth(1);
            (
                row.machine.family,
                kind,
                row.machine.vcpus,
                row.machine.name,
            )
        };
        assert!(MACHINES.is_sorted_by(|a, b| order(a) < order(b)));
    }

    #[test]
    fn gpu_count_matches_the_name() {
        for GcpMachine { machine, .. } in MACHINES {
            let count: Option<u32> = machine
                .name
                .split('-')
                .find_map(|part| part.strip_suffix('g')?.parse().ok());
            if let Some(count) = count {
                assert_eq!(machine.gpus.count, count, "{}", machine.name);
            }
        }
    }

    #[test]
    fn well_known_machines_have_the_right_gpus() {
        for (name, accelerator, model, count, vcpus) in [
            ("g2-standard-48", "nvidia-l4", "l4-24gb", 4, 48),
            ("g2-standard-32", "nvidia-l4", "l4-24gb", 1, 32),
            (
                "a2-highgpu-1g",
                "nvidia-tesla-a100",
                "a100-sxm4-40gb",
                1,
                12,
            ),
            (
                "a2-ultragpu-8g",
                "nvidia-a100-80gb",
                "a100-sxm4-80gb",
                8,
                96,
            ),
            (
                "a3-highgpu-8g",
                "nvidia-h100-80gb",
                "h100-sxm5-80gb",
                8,
                208,
            ),
            (
                "a3-megagpu-8g",
                "nvidia-h100-mega-80gb",
                "h100-sxm5-80gb",
                8,
                208,
            ),
            (
                "a3-ultragpu-8g",
                "nvidia-h200-141gb",
                "h200-sxm5-141gb",
                8,
                224,
            ),
        ] {
            let found = find(name).expect(name);
            let gpus = &found.machine.gpus;
            assert_eq!(
                (found.accelerator, gpus.model.key, gpus.count),
                (accelerator, model, count)
            );
            assert_eq!(found.machine.vcpus, vcpus);
        }
        let fraction = find("g4-standard-6").expect("a row").machine.gpus.fraction;
        assert_eq!(
            fraction.map(|it| (it.numerator, it.denominator)),
            Some((1, 8))
        );
        let a4x = find("a4x-highgpu-4g").expect("a row");
        assert_eq!(a4x.machine.architecture, CpuArchitecture::Arm64);
    }
}
