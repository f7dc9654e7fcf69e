//! The vCPUs and memory of VM sizes without GPUs, derived from their names.
//!
//! The number is the vCPUs. From version 3 on, D has 4 GiB per vCPU (2 with an `l` for low memory). E has 8 GiB per
//! vCPU, up to 48 vCPUs. F has 2 in its second version (learn.microsoft.com/azure/virtual-machines/sizes). A `p` means
//! Arm.

use gpuc_model::cloud::cpu::CpuMachine;
use gpuc_model::cloud::machine::CpuArchitecture;

/// The vCPUs, memory and architecture of a VM size, derived from its name.
pub fn cpu_machine(name: &str) -> Option<CpuMachine> {
    let NameParts {
        family,
        vcpus,
        features,
        version,
    } = parse_name(name)?;
    if !features.bytes().all(|b| b"abdlps".contains(&b)) {
        return None;
    }
    let low_memory = features.contains('l');
    let gib_per_vcpu = match (family, version) {
        ("D", "v3" | "v4" | "v5" | "v6") if matches!(vcpus, 2 | 4 | 8 | 16 | 32 | 48 | 64 | 96) => {
            if low_memory {
                2
            } else {
                4
            }
        }
        ("E", "v3" | "v4" | "v5" | "v6")
            if !low_memory && matches!(vcpus, 2 | 4 | 8 | 16 | 20 | 32 | 48) =>
        {
            8
        }
        ("F", "v2") if features == "s" && matches!(vcpus, 2 | 4 | 8 | 16 | 32 | 48 | 64 | 72) => 2,
        _ => return None,
    };
    Some(CpuMachine {
        vcpus,
        memory_mib: vcpus * gib_per_vcpu * 1024,
        architecture: architecture(name),
    })
}

/// CPU architecture of a size: Arm for sizes with a `p` among their features and for Grace.
pub fn architecture(name: &str) -> CpuArchitecture {
    let ampere = parse_name(name).is_some_and(|parts| parts.features.contains('p'));
    if ampere || name.contains("_GB200_") || name.contains("_GB300_") {
        CpuArchitecture::Arm64
    } else {
        CpuArchitecture::Amd64
    }
}

/// Parts of a size name: `Standard_D4ds_v5` is family D, 4 vCPUs, features ds, version v5.
struct NameParts<'a> {
    family: &'a str,
    vcpus: u32,
    features: &'a str,
    version: &'a str,
}

fn parse_name(name: &str) -> Option<NameParts<'_>> {
    let (size, version) = name.strip_prefix("Standard_")?.split_once('_')?;
    let number = size.find(|c: char| c.is_ascii_digit())?;
    let (family, rest) = size.split_at(number);
    let features = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let vcpus = rest[..rest.len() - features.len()].parse().ok()?;
    Some(NameParts {
        family,
        vcpus,
        features,
        version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_model::cloud::machine::CpuArchitecture::{Amd64, Arm64};

    #[test]
    fn known_names_have_a_size() {
        for (name, vcpus, gib, architecture) in [
            ("Standard_D4s_v5", 4, 16, Amd64),
            ("Standard_D2s_v3", 2, 8, Amd64),
            ("Standard_D8ads_v5", 8, 32, Amd64),
            ("Standard_D4ls_v5", 4, 8, Amd64),
            ("Standard_D4pds_v5", 4, 16, Arm64),
            ("Standard_E16bds_v5", 16, 128, Amd64),
            ("Standard_E4ps_v5", 4, 32, Arm64),
            ("Standard_F8s_v2", 8, 16, Amd64),
        ] {
            let expected = CpuMachine {
                vcpus,
                memory_mib: gib * 1024,
                architecture,
            };
            assert_eq!(cpu_machine(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn unknown_names_have_no_size() {
        for name in [
            "Standard_DS2_v2",
            "Standard_E64s_v3",
            "Standard_E96s_v5",
            "Standard_F4as_v6",
            "Standard_DC2s_v3",
            "Standard_E8-4s_v5",
            "Standard_D3s_v5",
            "Standard_B2s",
            "Standard_NC6s_v3",
        ] {
            assert_eq!(cpu_machine(name), None, "{name}");
        }
    }

    #[test]
    fn architecture_matches_the_gpu_catalog() {
        for machine in super::super::machines::MACHINES
            .iter()
            .map(|size| &size.machine)
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
