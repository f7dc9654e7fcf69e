//! GPUs that can be attached to N1 machines, and the N1 machine types.
//!
//! Sources, read 2026-11-21: Cyclenerd/google-cloud-pricing-cost-calculator@dac3128 `tools/machinetypes.csv` (N1
//! machines); skypilot-org/skypilot `sky/catalog/gcp_catalog.py`, after cloud.google.com/compute/docs/gpus (limits).

use gpuc_schema::gpu::{GpuModel, P4_8GB, P100_PCIE_16GB, T4_16GB, V100_SXM2_16GB};

/// A GPU model that can be attached to a machine type without GPUs.
#[derive(Debug)]
pub struct AttachableGpu {
    /// Google's name for the GPU model, the value of `--accelerator type=`.
    pub accelerator: &'static str,
    /// The GPU model.
    pub model: &'static GpuModel,
    /// Limits for each number of GPUs, in ascending order; other numbers are not supported.
    pub limits: &'static [AttachLimit],
}

/// Maximum size of a machine for a number of attached GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachLimit {
    /// Number of GPUs.
    pub count: u32,
    /// Maximum number of virtual CPUs.
    pub max_vcpus: u32,
    /// Maximum main memory, in GiB.
    pub max_memory_gib: u32,
}

/// A machine type of the N1 family, the only family to which GPUs can be attached.
#[derive(Debug)]
pub struct N1Machine {
    /// Name of the machine type.
    pub name: &'static str,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Main memory in MiB.
    pub memory_mib: u32,
    /// Whether Google advises against its use.
    pub deprecated: bool,
}

impl AttachableGpu {
    /// The limit for this number of GPUs; `None` if the number is not supported.
    pub fn limit(&self, count: u32) -> Option<AttachLimit> {
        self.limits
            .iter()
            .copied()
            .find(|limit| limit.count == count)
    }
}

impl AttachLimit {
    /// Whether the GPUs can be attached to the machine.
    pub fn admits(&self, machine: &N1Machine) -> bool {
        machine.vcpus <= self.max_vcpus && machine.memory_mib <= self.max_memory_gib * 1024
    }
}

/// The N1 machine type with this name.
pub fn find_n1(name: &str) -> Option<&'static N1Machine> {
    N1_MACHINES.iter().find(|machine| machine.name == name)
}

/// All attachable GPU models. Four P100 GPUs have lower limits, except in `us-east1-c`, `europe-west1-b` and
/// `europe-west1-d`.
pub static ATTACHABLE: &[AttachableGpu] = &[
    AttachableGpu {
        accelerator: "nvidia-tesla-t4",
        model: &T4_16GB,
        limits: &[
            attach_limit(1, 48, 312),
            attach_limit(2, 48, 312),
            attach_limit(4, 96, 624),
        ],
    },
    AttachableGpu {
        accelerator: "nvidia-tesla-p4",
        model: &P4_8GB,
        limits: &[
            attach_limit(1, 24, 156),
            attach_limit(2, 48, 312),
            attach_limit(4, 96, 624),
        ],
    },
    AttachableGpu {
        accelerator: "nvidia-tesla-v100",
        model: &V100_SXM2_16GB,
        limits: &[
            attach_limit(1, 12, 78),
            attach_limit(2, 24, 156),
            attach_limit(4, 48, 312),
            attach_limit(8, 96, 624),
        ],
    },
    AttachableGpu {
        accelerator: "nvidia-tesla-p100",
        model: &P100_PCIE_16GB,
        limits: &[
            attach_limit(1, 16, 104),
            attach_limit(2, 32, 208),
            attach_limit(4, 96, 624),
        ],
    },
];

/// All N1 machine types, by kind, smallest first.
#[rustfmt::skip] // One row per line, to keep the columns readable.
pub static N1_MACHINES: &[N1Machine] = &[
    // name               vCPU        MiB
    n1_machine("n1-highcpu-2",        2,     1_843),
    n1_machine("n1-highcpu-4",        4,     3_686),
    n1_machine("n1-highcpu-8",        8,     7_372),
    n1_machine("n1-highcpu-16",      16,    14_745),
    n1_machine("n1-highcpu-32",      32,    29_491),
    n1_machine("n1-highcpu-64",      64,    58_982),
    n1_machine("n1-highcpu-96",      96,    88_473),
    n1_machine("n1-highmem-2",        2,    13_312),
    n1_machine("n1-highmem-4",        4,    26_624),
    n1_machine("n1-highmem-8",        8,    53_248),
    n1_machine("n1-highmem-16",      16,   106_496),
    n1_machine("n1-highmem-32",      32,   212_992),
    n1_machine("n1-highmem-64",      64,   425_984),
    n1_machine("n1-highmem-96",      96,   638_976),
    n1_machine("n1-megamem-96",      96, 1_468_006).deprecated(),
    n1_machine("n1-standard-1",       1,     3_840),
    n1_machine("n1-standard-2",       2,     7_680),
    n1_machine("n1-standard-4",       4,    15_360),
    n1_machine("n1-standard-8",       8,    30_720),
    n1_machine("n1-standard-16",     16,    61_440),
    n1_machine("n1-standard-32",     32,   122_880),
    n1_machine("n1-standard-64",     64,   245_760),
    n1_machine("n1-standard-96",     96,   368_640),
    n1_machine("n1-ultramem-40",     40,   984_064).deprecated(),
    n1_machine("n1-ultramem-80",     80, 1_968_128).deprecated(),
    n1_machine("n1-ultramem-160",   160, 3_936_256).deprecated(),
];

const fn attach_limit(count: u32, max_vcpus: u32, max_memory_gib: u32) -> AttachLimit {
    AttachLimit {
        count,
        max_vcpus,
        max_memory_gib,
    }
}

const fn n1_machine(name: &'static str, vcpus: u32, memory_mib: u32) -> N1Machine {
    N1Machine {
        name,
        vcpus,
        memory_mib,
        deprecated: false,
    }
}

impl N1Machine {
    const fn deprecated(self) -> Self {
        Self {
            deprecated: true,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_sorted_by_kind_and_size() {
        assert_eq!(N1_MACHINES.len(), 26);
        let order = |machine: &'static N1Machine| (machine.name.split('-').nth(1), machine.vcpus);
        assert!(N1_MACHINES.is_sorted_by(|a, b| order(a) < order(b)));
        for machine in N1_MACHINES {
            assert!(machine.name.ends_with(&format!("-{}", machine.vcpus)));
        }
    }

    #[test]
    fn limits_grow_with_the_number_of_gpus() {
        assert_eq!(ATTACHABLE.len(), 4);
        for attachable in ATTACHABLE {
            assert!(attachable.limits.is_sorted_by(|a, b| {
                a.count < b.count
                    && a.max_vcpus <= b.max_vcpus
                    && a.max_memory_gib <= b.max_memory_gib
            }));
        }
    }

    #[test]
    fn limits_refuse_machines_that_are_too_large() {
        let find = |name: &str| ATTACHABLE.iter().find(|it| it.accelerator == name);
        let t4 = find("nvidia-tesla-t4").expect("a row");
        let one = t4.limit(1).expect("one T4");
        assert!(one.admits(find_n1("n1-standard-32").expect("a row")));
        assert!(!one.admits(find_n1("n1-standard-64").expect("a row")));
        assert_eq!(t4.limit(3), None);
        let v100 = find("nvidia-tesla-v100").and_then(|attachable| attachable.limit(1));
        assert!(
            !v100
                .expect("one V100")
                .admits(find_n1("n1-standard-16").expect("a row"))
        );
    }
}
