//! The size of EC2 instance types without GPUs, derived from their names.
//!
//! Since the fifth generation, `m`, `c` and `r` have 4, 2 and 8 GiB per vCPU; `large` has 2 vCPUs, `xlarge` 4, and
//! `Nxlarge` N times that (aws.amazon.com/ec2/instance-types). `c5n` has another ratio, and `metal` no fixed size.

use gpuc_model::cloud::cpu::CpuMachine;
use gpuc_model::cloud::machine::CpuArchitecture;

/// The size of an instance type, if its name determines it.
pub fn cpu_machine(name: &str) -> Option<CpuMachine> {
    let (family, size) = name.split_once('.')?;
    let (vcpus, memory_mib) = if matches!(family, "t3" | "t3a" | "t4g") {
        burstable_size(size)?
    } else {
        let vcpus = vcpus(family, size)?;
        (vcpus, vcpus * gib_per_vcpu(family)? * 1024)
    };
    Some(CpuMachine {
        vcpus,
        memory_mib,
        architecture: architecture(name),
    })
}

/// The CPU architecture of an instance type: a `g` after the generation means Graviton, as does `a1`.
pub fn architecture(name: &str) -> CpuArchitecture {
    let family = name.split_once('.').map_or(name, |(family, _)| family);
    let attributes = family
        .split_once(|c: char| c.is_ascii_digit())
        .map_or("", |(_, rest)| rest);
    let attributes = attributes.split('-').next().unwrap_or("");
    if attributes.contains('g') || family == "a1" || family == "p6e-gb200" {
        CpuArchitecture::Arm64
    } else {
        CpuArchitecture::Amd64
    }
}

fn gib_per_vcpu(family: &str) -> Option<u32> {
    let ratio = match family.as_bytes().first()? {
        b'm' => 4,
        b'c' => 2,
        b'r' => 8,
        _ => return None,
    };
    let attributes = family[1..].strip_prefix(['5', '6', '7', '8'])?;
    let attributes = attributes.strip_suffix("-flex").unwrap_or(attributes);
    let known = attributes.bytes().all(|b| b"abdginz".contains(&b));
    (known && family != "c5n").then_some(ratio)
}

fn vcpus(family: &str, size: &str) -> Option<u32> {
    const MULTIPLES: [u32; 11] = [2, 4, 8, 9, 12, 16, 18, 24, 32, 48, 96];
    match size {
        // Only machines without hyper-threading have a single vCPU.
        "medium" => matches!(family, "m7a" | "c7a" | "r7a" | "m8a" | "c8a" | "r8a")
            .then_some(1)
            .or_else(|| (architecture(family) == CpuArchitecture::Arm64).then_some(1)),
        "large" => Some(2),
        "xlarge" => Some(4),
        _ => {
            let multiple = size.strip_suffix("xlarge")?.parse().ok()?;
            MULTIPLES.contains(&multiple).then_some(multiple * 4)
        }
    }
}

fn burstable_size(size: &str) -> Option<(u32, u32)> {
    Some(match size {
        "nano" => (2, 512),
        "micro" => (2, 1024),
        "small" => (2, 2 * 1024),
        "medium" => (2, 4 * 1024),
        "large" => (2, 8 * 1024),
        "xlarge" => (4, 16 * 1024),
        "2xlarge" => (8, 32 * 1024),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_model::cloud::machine::CpuArchitecture::{Amd64, Arm64};

    #[test]
    fn names_determine_sizes() {
        for (name, vcpus, gib, architecture) in [
            ("m5.large", 2, 8, Amd64),
            ("m6i.xlarge", 4, 16, Amd64),
            ("m7i-flex.2xlarge", 8, 32, Amd64),
            ("c5.9xlarge", 36, 72, Amd64),
            ("c7gn.xlarge", 4, 8, Arm64),
            ("r6gd.4xlarge", 16, 128, Arm64),
            ("m7g.medium", 1, 4, Arm64),
            ("t3.medium", 2, 4, Amd64),
            ("t4g.large", 2, 8, Arm64),
        ] {
            let expected = CpuMachine {
                vcpus,
                memory_mib: gib * 1024,
                architecture,
            };
            assert_eq!(cpu_machine(name), Some(expected), "{name}");
        }
    }

    /// Source: aws.amazon.com/ec2/instance-types/t3, general knowledge.
    #[test]
    fn names_determine_burstable_sizes() {
        for (size, vcpus, memory_mib) in [
            ("nano", 2, 512),
            ("micro", 2, 1_024),
            ("small", 2, 2_048),
            ("medium", 2, 4_096),
            ("large", 2, 8_192),
            ("xlarge", 4, 16_384),
            ("2xlarge", 8, 32_768),
        ] {
            let found = cpu_machine(&format!("t3.{size}")).expect(size);
            assert_eq!(
                (found.vcpus, found.memory_mib),
                (vcpus, memory_mib),
                "{size}"
            );
        }
    }

    #[test]
    fn unknown_names_have_no_size() {
        for name in [
            "m4.large",
            "c5n.xlarge",
            "m5.metal",
            "m6i.medium",
            "x2gd.large",
            "r5",
            "p5.48xlarge",
        ] {
            assert_eq!(cpu_machine(name), None, "{name}");
        }
    }

    #[test]
    fn architecture_matches_the_catalog() {
        for instance in super::super::machines::MACHINES {
            let machine = &instance.machine;
            assert_eq!(
                architecture(machine.name),
                machine.architecture,
                "{}",
                machine.name
            );
        }
    }
}
