//! The vCPUs and memory of Compute Engine machine types without GPUs, derived from their names.
//!
//! The last part of the name is the vCPUs; `standard`, `highmem` and `highcpu` determine the memory per vCPU
//! (cloud.google.com/compute/docs/machine-resource). C4 and C4D have no such ratio and are omitted.

use gpuc_model::cloud::cpu::CpuMachine;
use gpuc_model::cloud::machine::CpuArchitecture;

use super::attachable_gpus;
use super::names::custom_size;

/// The vCPUs, memory and architecture of a machine type, derived from its name.
pub fn cpu_machine(name: &str) -> Option<CpuMachine> {
    let (vcpus, memory_mib) = n1_size(name)
        .or_else(|| custom_machine_size(name))
        .or_else(|| predefined_size(name))?;
    Some(CpuMachine {
        vcpus,
        memory_mib,
        architecture: architecture(name),
    })
}

/// CPU architecture of a machine type: Tau T2A (Ampere) and Axion are Arm, and so is the Grace CPU of A4X.
pub fn architecture(name: &str) -> CpuArchitecture {
    match name.split('-').next() {
        Some("t2a" | "c4a" | "n4a" | "a4x") => CpuArchitecture::Arm64,
        _ => CpuArchitecture::Amd64,
    }
}

fn n1_size(name: &str) -> Option<(u32, u32)> {
    attachable_gpus::find_n1(name).map(|machine| (machine.vcpus, machine.memory_mib))
}

/// The name of a custom machine type contains its memory in MiB; without a family it is an N1.
fn custom_machine_size(name: &str) -> Option<(u32, u32)> {
    let parts: Vec<_> = name.split('-').collect();
    match parts[..] {
        ["custom", ref size @ ..] | [_, "custom", ref size @ ..] => custom_size(size),
        _ => None,
    }
}

fn predefined_size(name: &str) -> Option<(u32, u32)> {
    match name {
        // These have shared cores.
        "e2-micro" => return Some((2, 1024)),
        "e2-small" => return Some((2, 2 * 1024)),
        "e2-medium" => return Some((2, 4 * 1024)),
        // The largest of its kind has less memory per vCPU.
        "n2-highmem-128" => return None,
        _ => {}
    }
    let name = name.strip_suffix("-lssd").unwrap_or(name);
    let mut parts = name.split('-');
    let (family, kind, vcpus) = (parts.next()?, parts.next()?, parts.next()?);
    let gib_per_vcpu = match (family, kind) {
        ("e2" | "n2" | "n2d" | "n4" | "c3" | "c3d" | "c4a" | "t2d" | "t2a", "standard") => 4,
        ("e2" | "n2" | "n2d" | "n4" | "c3" | "c3d" | "c4a", "highmem") => 8,
        ("e2" | "n2" | "n2d", "highcpu") => 1,
        ("n4" | "c3" | "c3d" | "c4a", "highcpu") => 2,
        _ => return None,
    };
    let vcpus: u32 = vcpus
        .parse()
        .ok()
        .filter(|vcpus| (1..=512).contains(vcpus))?;
    parts
        .next()
        .is_none()
        .then_some((vcpus, vcpus * gib_per_vcpu * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_model::cloud::machine::CpuArchitecture::{Amd64, Arm64};

    #[test]
    fn known_names_have_a_size() {
        for (name, vcpus, mib, architecture) in [
            ("n1-standard-4", 4, 15_360, Amd64),
            ("n2-standard-8", 8, 32_768, Amd64),
            ("n2d-highmem-16", 16, 131_072, Amd64),
            ("e2-highcpu-4", 4, 4_096, Amd64),
            ("c3-highcpu-22", 22, 45_056, Amd64),
            ("c3-standard-4-lssd", 4, 16_384, Amd64),
            ("e2-medium", 2, 4_096, Amd64),
            ("t2a-standard-2", 2, 8_192, Arm64),
            ("c4a-standard-4", 4, 16_384, Arm64),
            ("n2-custom-6-10240-ext", 6, 10_240, Amd64),
            ("custom-2-4096", 2, 4_096, Amd64),
        ] {
            let expected = CpuMachine {
                vcpus,
                memory_mib: mib,
                architecture,
            };
            assert_eq!(cpu_machine(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn unknown_names_have_no_size() {
        for name in [
            "c4-standard-4",
            "n2-highmem-128",
            "m3-ultramem-32",
            "n2-standard",
            "n2-standard-8-x",
        ] {
            assert_eq!(cpu_machine(name), None, "{name}");
        }
    }

    #[test]
    fn architecture_matches_the_gpu_catalog() {
        for machine in super::super::machines::MACHINES
            .iter()
            .map(|row| &row.machine)
        {
            assert_eq!(
                architecture(machine.name),
                machine.architecture,
                "{}",
                machine.name
            );
        }
    }
}
