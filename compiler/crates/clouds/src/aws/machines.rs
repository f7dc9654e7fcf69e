//! The EC2 instance types with NVIDIA GPUs.
//!
//! Sources, read 2026-11-21: aws/karpenter-provider-aws@1d927085
//! `website/content/en/preview/reference/instance-types.md`, generated from what EC2 describes (sizes, network, EFA,
//! disks, pods); eksctl-io/eksctl@99984adb `pkg/utils/instance/instance_types.go` (what eksctl knows, capacity
//! blocks); awsdocs/amazon-eks-user-guide@07d09a00 `latest/ug/ml/ml-eks-optimized-ami.adoc` (images).

use gpuc_schema::gpu::{
    A10G_24GB, A100_SXM4_40GB, A100_SXM4_80GB, B200_SXM6_180GB, B300_SXM6_270GB, GB200_186GB,
    GpuModel, H100_SXM5_80GB, H200_SXM5_141GB, L4_24GB, L40S_48GB, RTX_PRO_4500_SERVER_32GB,
    RTX_PRO_6000_SERVER_96GB, T4_16GB, T4G_16GB, V100_SXM2_16GB, V100_SXM2_32GB,
};

use gpuc_model::cloud::machine::{CpuArchitecture, Fraction, Machine, MachineGpus, Status};

/// An EC2 instance type with GPUs.
#[derive(Debug)]
pub struct Ec2Instance {
    /// The properties that every cloud's catalog has.
    pub machine: Machine,
    /// The number of EFA interfaces, which nodes advertise as `vpc.amazonaws.com/efa`. `None` without a source.
    pub efa: Option<u32>,
    /// Whether its first network card supports EFA, where eksctl attaches an interface.
    pub efa_on_first_card: bool,
    /// Total size of the local disks, in GB; `None` without a source.
    pub local_nvme_gb: Option<u32>,
    /// Network bandwidth in Mbit/s.
    pub network_mbps: u32,
    /// The maximum number of pods per node with the Amazon VPC CNI plugin.
    pub max_pods: Option<u32>,
    /// Whether eksctl's map of GPU instances contains it. If not, eksctl uses an image without a driver and installs no
    /// device plugin.
    pub eksctl_knows: bool,
    /// Whether it can be reserved in a capacity block, according to eksctl.
    pub capacity_blocks: Option<bool>,
    /// The EKS image type with NVIDIA's driver on Amazon Linux 2023.
    pub ami_al2023: Option<&'static str>,
    /// The EKS image type with NVIDIA's driver on Bottlerocket.
    pub ami_bottlerocket: Option<&'static str>,
    /// Whether it is a bare metal instance.
    pub metal: bool,
}

/// The instance type with this name.
pub fn find(name: &str) -> Option<&'static Ec2Instance> {
    MACHINES
        .iter()
        .find(|instance| instance.machine.name == name)
}

/// Every instance type with NVIDIA GPUs, by family, the smallest first.
#[rustfmt::skip] // One row per line keeps the columns readable.
pub static MACHINES: &[Ec2Instance] = &[
    //  name                 vCPU   GiB  GPU    count   Mbit/s EFA NVMe GB   pods
    row("g4dn.xlarge",          4,    16, T4,       1,     5_000,  0,    125,    29),
    row("g4dn.2xlarge",         8,    32, T4,       1,    10_000,  0,    225,    29),
    row("g4dn.4xlarge",        16,    64, T4,       1,    20_000,  0,    225,    29),
    row("g4dn.8xlarge",        32,   128, T4,       1,    50_000,  1,    900,    58),
    row("g4dn.12xlarge",       48,   192, T4,       4,    50_000,  1,    900,   234),
    row("g4dn.16xlarge",       64,   256, T4,       1,    50_000,  1,    900,    58),
    row("g4dn.metal",          96,   384, T4,       8,   100_000,  1,  1_800,   737).metal(),

    row("g5.xlarge",            4,    16, A10G,     1,     2_500,  0,    250,    58),
    row("g5.2xlarge",           8,    32, A10G,     1,     5_000,  0,    450,    58),
    row("g5.4xlarge",          16,    64, A10G,     1,    10_000,  0,    600,   234),
    row("g5.8xlarge",          32,   128, A10G,     1,    25_000,  1,    900,   234),
    row("g5.12xlarge",         48,   192, A10G,     4,    40_000,  1,  3_800,   737),
    row("g5.16xlarge",         64,   256, A10G,     1,    25_000,  1,  1_900,   234),
    row("g5.24xlarge",         96,   384, A10G,     4,    50_000,  1,  3_800,   737),
    row("g5.48xlarge",        192,   768, A10G,     8,   100_000,  1,  7_600,   345),

    row("g5g.xlarge",           4,     8, T4G,      1,     1_250,  0,      0,    58),
    row("g5g.2xlarge",          8,    16, T4G,      1,     2_500,  0,      0,    58),
    row("g5g.4xlarge",         16,    32, T4G,      1,     5_000,  0,      0,   234),
    row("g5g.8xlarge",         32,    64, T4G,      1,    12_000,  0,      0,   234),
    row("g5g.16xlarge",        64,   128, T4G,      2,    25_000,  0,      0,   737),
    row("g5g.metal",           64,   128, T4G,      2,    25_000,  0,      0,   737).metal(),

    row("g6.xlarge",            4,    16, L4,       1,     2_500,  0,    250,    58),
    row("g6.2xlarge",           8,    32, L4,       1,     5_000,  0,    450,    58),
    row("g6.4xlarge",          16,    64, L4,       1,    10_000,  0,    600,   234),
    row("g6.8xlarge",          32,   128, L4,       1,    25_000,  1,    900,   234),
    row("g6.12xlarge",         48,   192, L4,       4,    40_000,  1,  3_760,   234),
    row("g6.16xlarge",         64,   256, L4,       1,    25_000,  1,  1_880,   737),
    row("g6.24xlarge",         96,   384, L4,       4,    50_000,  1,  3_760,   737),
    row("g6.48xlarge",        192,   768, L4,       8,   100_000,  1,  7_520,   737),

    row("g6e.xlarge",           4,    32, L40S,     1,     2_500,  0,    250,    58),
    row("g6e.2xlarge",          8,    64, L40S,     1,     5_000,  0,    450,    58),
    row("g6e.4xlarge",         16,   128, L40S,     1,    20_000,  0,    600,   234),
    row("g6e.8xlarge",         32,   256, L40S,     1,    25_000,  1,    900,   234),
    row("g6e.12xlarge",        48,   384, L40S,     4,   100_000,  1,  3_800,   292),
    row("g6e.16xlarge",        64,   512, L40S,     1,    35_000,  1,  1_900,   737),
    row("g6e.24xlarge",        96,   768, L40S,     4,   200_000,  2,  3_800,   492),
    row("g6e.48xlarge",       192, 1_536, L40S,     8,   400_000,  4,  7_600,   492),

    row("g6f.large",            2,     8, L4,       1,     1_500,  0,    100,    20).fraction(8, 2_861),
    row("g6f.xlarge",           4,    16, L4,       1,     2_500,  0,    100,    58).fraction(8, 2_861),
    row("g6f.2xlarge",          8,    32, L4,       1,     5_000,  0,    200,    58).fraction(4, 5_722),
    row("g6f.4xlarge",         16,    64, L4,       1,    10_000,  0,    450,   234).fraction(2, 11_444),

    row("g7.2xlarge",           8,    32, RTX_4500, 1,    60_000,  0,    440,   254).note(G7_NOTE),
    row("g7.4xlarge",          16,    64, RTX_4500, 1,    60_000,  0,    875,   506).note(G7_NOTE),
    row("g7.8xlarge",          32,   128, RTX_4500, 1,    80_000,  1,    930,   632).note(G7_NOTE),
    row("g7.12xlarge",         48,   192, RTX_4500, 2,   175_000,  1,  1_900,   758).note(G7_NOTE),
    row("g7.24xlarge",         96,   384, RTX_4500, 4,   350_000,  1,  3_800, 1_514).note(G7_NOTE),
    row("g7.48xlarge",        192,   768, RTX_4500, 8,   700_000,  2,  7_600,   758).note(G7_NOTE),

    row("g7e.2xlarge",          8,    64, RTX_6000, 1,    50_000,  0,  1_900,   254),
    row("g7e.4xlarge",         16,   128, RTX_6000, 1,    50_000,  0,  1_900,   506),
    row("g7e.8xlarge",         32,   256, RTX_6000, 1,   100_000,  1,  1_900,   506),
    row("g7e.12xlarge",        48,   512, RTX_6000, 2,   400_000,  1,  3_800,   632),
    row("g7e.24xlarge",        96, 1_024, RTX_6000, 4,   800_000,  2,  7_600,   632),
    row("g7e.48xlarge",       192, 2_048, RTX_6000, 8, 1_600_000,  4, 15_200,   632),

    row("gr6.4xlarge",         16,   128, L4,       1,    10_000,  0,    600,   234),
    row("gr6.8xlarge",         32,   256, L4,       1,    25_000,  1,    900,   234),

    row("gr6f.4xlarge",        16,   128, L4,       1,    10_000,  0,    450,   234).fraction(2, 11_444),

    row("p3.2xlarge",           8,    61, V100,     1,     2_500,  0,      0,    58).previous_generation(),
    row("p3.8xlarge",          32,   244, V100,     4,    10_000,  0,      0,   234).previous_generation(),
    row("p3.16xlarge",         64,   488, V100,     8,    25_000,  0,      0,   234).previous_generation(),

    row("p3dn.24xlarge",       96,   768, V100_32,  8,   100_000,  1,  1_800,   737),

    row("p4d.24xlarge",        96, 1_152, A100,     8,   400_000,  4,  8_000,   737).capacity_blocks(),

    row("p4de.24xlarge",       96, 1_152, A100_80,  8,   400_000,  4,  8_000,   737).capacity_blocks(),

    row("p5.4xlarge",          16,   256, H100,     1,   100_000,  1,  3_800,   118).capacity_blocks(),
    row("p5.48xlarge",        192, 2_048, H100,     8, 3_200_000, 32, 30_400,   100).capacity_blocks(),

    row("p5e.48xlarge",       192, 2_048, H200,     8, 3_200_000, 32, 30_400,   100).capacity_blocks(),

    row("p5en.48xlarge",      192, 2_048, H200,     8, 3_200_000, 16, 30_400,   198).capacity_blocks(),

    row("p6-b200.48xlarge",   192, 2_048, B200,     8, 3_200_000,  8, 30_400,   198).capacity_blocks(),

    row("p6-b300.48xlarge",   192, 4_096, B300,     8, 6_400_000, 16, 30_400,   198).capacity_blocks().first_card_without_efa(),

    row("p6e-gb200.36xlarge", 144,   960, GB200,    4, 3_200_000,  0,      0,     0).capacity_blocks().part_of_ultraserver(),
];

/// A GPU model and its memory in MiB as EC2 reports it, which for some is less and for others more than the driver's
/// figure.
#[derive(Clone, Copy)]
struct GpuSpec(&'static GpuModel, u32);

const T4: GpuSpec = GpuSpec(&T4_16GB, 16_384);
const A10G: GpuSpec = GpuSpec(&A10G_24GB, 22_888);
const T4G: GpuSpec = GpuSpec(&T4G_16GB, 16_384);
const L4: GpuSpec = GpuSpec(&L4_24GB, 22_888);
const L40S: GpuSpec = GpuSpec(&L40S_48GB, 45_776);
const RTX_4500: GpuSpec = GpuSpec(&RTX_PRO_4500_SERVER_32GB, 32_768);
const RTX_6000: GpuSpec = GpuSpec(&RTX_PRO_6000_SERVER_96GB, 98_304);
const V100: GpuSpec = GpuSpec(&V100_SXM2_16GB, 16_384);
const V100_32: GpuSpec = GpuSpec(&V100_SXM2_32GB, 32_768);
const A100: GpuSpec = GpuSpec(&A100_SXM4_40GB, 40_960);
const A100_80: GpuSpec = GpuSpec(&A100_SXM4_80GB, 81_920);
const H100: GpuSpec = GpuSpec(&H100_SXM5_80GB, 81_920);
const H200: GpuSpec = GpuSpec(&H200_SXM5_141GB, 144_384);
const B200: GpuSpec = GpuSpec(&B200_SXM6_180GB, 183_359);
const B300: GpuSpec = GpuSpec(&B300_SXM6_270GB, 275_040);
const GB200: GpuSpec = GpuSpec(&GB200_186GB, 189_440);

const KARPENTER_SOURCE: &str =
    "aws/karpenter-provider-aws:website/content/en/preview/reference/instance-types.md@1d927085";
const KARPENTER_1_12_SOURCE: &str =
    "aws/karpenter-provider-aws:website/content/en/v1.12/reference/instance-types.md@1d927085";
const ULTRASERVER_SOURCE: &str =
    "Amazon EKS user guide, ml-eks-nvidia-ultraserver (2026-11-21); botocore 1.43.11";

const FRACTIONAL_NOTE: &str =
    "EC2 reports no GPU for it, so autoscalers expect none; it requires the GRID driver";
const METAL_NOTE: &str = "eksctl does not recognize metal instances as GPU instances";
const G7_NOTE: &str = "the table of EKS images that was read lists g7e but not g7";
const P3_NOTE: &str = "\
    eksctl does not recognize its GPUs: it uses an image without a driver and installs no device \
    plugin";
const GB200_NOTE: &str = "\
    available only inside the UltraServers u-p6e-gb200x36 and x72, as a capacity block, never as spot; \
    requires Kubernetes 1.33, DRA and IMEX";

/// A row of the table. `efa` and `local_nvme_gb` are 0 for machines without EFA or local disks.
#[expect(
    clippy::too_many_arguments,
    reason = "they are the columns of the table"
)]
const fn row(
    name: &'static str,
    vcpus: u32,
    memory_gib: u32,
    gpu: GpuSpec,
    count: u32,
    network_mbps: u32,
    efa: u32,
    local_nvme_gb: u32,
    max_pods: u32,
) -> Ec2Instance {
    let on_arm = gpu.0.arm64_host;
    Ec2Instance {
        machine: Machine {
            name,
            family: family(name),
            vcpus,
            memory_mib: Some(memory_gib * 1024),
            architecture: if on_arm {
                CpuArchitecture::Arm64
            } else {
                CpuArchitecture::Amd64
            },
            gpus: MachineGpus::full_gpus(gpu.0, count, Some(gpu.1)),
            status: Status::Current,
            note: None,
            source: KARPENTER_SOURCE,
        },
        efa: Some(efa),
        efa_on_first_card: true,
        local_nvme_gb: Some(local_nvme_gb),
        network_mbps,
        max_pods: Some(max_pods),
        eksctl_knows: true,
        capacity_blocks: Some(false),
        ami_al2023: Some(if on_arm {
            "AL2023_ARM_64_NVIDIA"
        } else {
            "AL2023_x86_64_NVIDIA"
        }),
        ami_bottlerocket: Some(if on_arm {
            "BOTTLEROCKET_ARM_64_NVIDIA"
        } else {
            "BOTTLEROCKET_x86_64_NVIDIA"
        }),
        metal: false,
    }
}

/// `p5` in `p5.48xlarge`.
const fn family(name: &'static str) -> &'static str {
    let mut dot = 0;
    while name.as_bytes()[dot] != b'.' {
        dot += 1;
    }
    name.split_at(dot).0
}

/// Properties of some rows in addition to the columns.
impl Ec2Instance {
    const fn metal(self) -> Self {
        let known = Self {
            metal: true,
            eksctl_knows: false,
            capacity_blocks: None,
            ..self
        };
        known.note(METAL_NOTE)
    }

    /// The first of the 17 network cards of p6-b300 is for IP only (aws/aws-parallelcluster#7143, 2025-12-06). eksctl
    /// attaches an EFA interface to it (eksctl-io/eksctl:pkg/cfn/builder/network_interfaces.go @99984adb, 2026-08-21).
    const fn first_card_without_efa(self) -> Self {
        Self {
            efa_on_first_card: false,
            ..self
        }
    }

    const fn capacity_blocks(self) -> Self {
        Self {
            capacity_blocks: Some(true),
            ..self
        }
    }

    const fn fraction(self, denominator: u32, memory_mib: u32) -> Self {
        let gpus = MachineGpus {
            memory_mib: Some(memory_mib),
            fraction: Some(Fraction {
                numerator: 1,
                denominator,
            }),
            reported: Some(0),
            ..self.machine.gpus
        };
        let machine = Machine {
            gpus,
            ..self.machine
        };
        Self { machine, ..self }.note(FRACTIONAL_NOTE)
    }

    const fn previous_generation(self) -> Self {
        let machine = Machine {
            status: Status::PreviousGeneration,
            source: KARPENTER_1_12_SOURCE,
            ..self.machine
        };
        let known = Self {
            machine,
            eksctl_knows: false,
            capacity_blocks: None,
            ..self
        };
        known.note(P3_NOTE)
    }

    const fn part_of_ultraserver(self) -> Self {
        let machine = Machine {
            status: Status::PartOfLarger,
            source: ULTRASERVER_SOURCE,
            ..self.machine
        };
        let known = Self {
            machine,
            efa: None,
            local_nvme_gb: None,
            max_pods: None,
            eksctl_knows: false,
            ami_bottlerocket: None,
            ..self
        };
        known.note(GB200_NOTE)
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

    fn instance(name: &str) -> &'static Ec2Instance {
        find(name).expect(name)
    }

    #[test]
    fn instances_are_sorted_by_family_and_size() {
        assert_eq!(MACHINES.len(), 69);
        let order =
            |it: &'static Ec2Instance| (it.machine.family, it.machine.vcpus, it.machine.name);
        assert!(MACHINES.is_sorted_by(|a, b| order(a) < order(b)));
    }

    #[test]
    fn large_instances_have_efa() {
        for (name, gpu, count, efa) in [
            ("p4d.24xlarge", "a100-sxm4-40gb", 8, 4),
            ("p5.4xlarge", "h100-sxm5-80gb", 1, 1),
            ("p5.48xlarge", "h100-sxm5-80gb", 8, 32),
            ("p5en.48xlarge", "h200-sxm5-141gb", 8, 16),
            ("p6-b200.48xlarge", "b200-sxm6-180gb", 8, 8),
            ("g6e.48xlarge", "l40s-48gb", 8, 4),
        ] {
            let found = instance(name);
            let gpus = &found.machine.gpus;
            assert_eq!(
                (gpus.model.key, gpus.count, found.efa),
                (gpu, count, Some(efa))
            );
        }
        assert_eq!(instance("p6e-gb200.36xlarge").efa, None);
        assert_eq!(instance("p5.48xlarge").machine.memory_mib, Some(2_097_152));
    }

    #[test]
    fn fractional_gpus_are_not_reported() {
        let gpus = &instance("g6f.xlarge").machine.gpus;
        assert_eq!(
            (gpus.count, gpus.reported, gpus.memory_mib),
            (1, Some(0), Some(2_861))
        );
        let names = MACHINES
            .iter()
            .filter(|it| it.machine.gpus.fraction.is_some());
        let families: Vec<_> = names.map(|it| it.machine.family).collect();
        assert_eq!(families, ["g6f", "g6f", "g6f", "g6f", "gr6f"]);
    }

    #[test]
    fn eksctl_does_not_know_all_instances() {
        let unknown: Vec<_> = MACHINES
            .iter()
            .filter(|it| !it.eksctl_knows)
            .map(|it| it.machine.name)
            .collect();
        let expected = [
            "g4dn.metal",
            "g5g.metal",
            "p3.2xlarge",
            "p3.8xlarge",
            "p3.16xlarge",
            "p6e-gb200.36xlarge",
        ];
        assert_eq!(unknown, expected);
        assert_eq!(
            instance("p3.2xlarge").machine.status,
            Status::PreviousGeneration
        );
        assert_eq!(instance("p3dn.24xlarge").machine.status, Status::Current);
    }

    #[test]
    fn images_follow_the_architecture() {
        let arm = instance("g5g.xlarge");
        assert_eq!(arm.machine.architecture, CpuArchitecture::Arm64);
        assert_eq!(arm.ami_al2023, Some("AL2023_ARM_64_NVIDIA"));
        assert_eq!(
            instance("g5.xlarge").ami_bottlerocket,
            Some("BOTTLEROCKET_x86_64_NVIDIA")
        );
        assert_eq!(
            instance("p6e-gb200.36xlarge").machine.architecture,
            CpuArchitecture::Arm64
        );
    }
}
