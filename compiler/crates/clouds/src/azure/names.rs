//! Names of Azure locations, zones and VM sizes, and the sizes that gpuc does not support.

/// Whether `name` has the form of a location: `eastus`, `westeurope`, `germanywestcentral`.
pub fn is_region_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Whether `name` is a zone: Azure numbers the zones of a location from 1 to 3.
pub fn is_zone_name(name: &str) -> bool {
    matches!(name, "1" | "2" | "3")
}

/// Whether `name` has the form of a VM size: `Standard_D4s_v5`, `Standard_E8-4s_v5`.
pub fn is_machine_name(name: &str) -> bool {
    name.strip_prefix("Standard_").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_uppercase())
            && rest
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    })
}

/// Whether `name` is a valid cluster name: letters, digits, `-` and `_`, with a letter or digit at both ends.
///
/// Source: learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules, 2026-11-21.
pub fn is_cluster_name(name: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(ends)
        && name.ends_with(ends)
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The accelerator of a size without NVIDIA GPUs. Series from Azure's list of sizes.
pub fn other_accelerator(name: &str) -> Option<&'static str> {
    let size_name = name.strip_prefix("Standard_")?;
    let numbered = |series: &str| {
        size_name
            .strip_prefix(series)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if numbered("NV") && size_name.ends_with("as_v4") {
        Some("AMD Radeon Instinct MI25")
    } else if numbered("ND") && size_name.contains("_MI300X_") {
        Some("AMD Instinct MI300X")
    } else if numbered("NG") && size_name.contains("_V620_") {
        Some("AMD Radeon PRO V620")
    } else if numbered("NP") {
        Some("AMD Alveo U250")
    } else {
        None
    }
}

/// The NVIDIA GPUs of a size of an old series that the catalog omits.
pub fn unsupported_gpus(name: &str) -> Option<&'static str> {
    let size_name = name.strip_prefix("Standard_NV")?;
    let is_numbered = size_name.starts_with(|c: char| c.is_ascii_digit());
    (is_numbered && size_name.ends_with("s_v3")).then_some("NVIDIA Tesla M60")
}

/// Whether a size belongs to family N, the sizes with GPUs.
///
/// Source: MicrosoftDocs/azure-compute-docs `articles/virtual-machines/sizes/overview.md`, from memory.
pub fn has_gpus(name: &str) -> bool {
    name.starts_with("Standard_N")
}

#[cfg(test)]
mod tests {
    use super::super::cpu::cpu_machine;
    use super::super::machines::{MACHINES, RETIRED};
    use super::*;

    #[test]
    fn regions_and_zones() {
        for name in ["eastus", "westus3", "germanywestcentral"] {
            assert!(is_region_name(name), "{name}");
        }
        for name in ["", "us-east-1", "East US", "EastUS", "3westus"] {
            assert!(!is_region_name(name), "{name}");
        }
        assert!(is_zone_name("1") && !is_zone_name("4") && !is_zone_name("eastus-1"));
    }

    #[test]
    fn machine_names() {
        assert!(
            MACHINES
                .iter()
                .all(|size| is_machine_name(size.machine.name))
        );
        assert!(is_machine_name("Standard_D4s_v5") && is_machine_name("Standard_E8-4s_v5"));
        for name in [
            "",
            "Standard_",
            "standard_D4s_v5",
            "D4s_v5",
            "Standard_D4s v5",
            "m5.large",
        ] {
            assert!(!is_machine_name(name), "{name}");
        }
    }

    #[test]
    fn other_accelerators() {
        for (name, accelerator) in [
            ("Standard_NV4as_v4", "AMD Radeon Instinct MI25"),
            ("Standard_ND96isr_MI300X_v5", "AMD Instinct MI300X"),
            ("Standard_NG32ads_V620_v1", "AMD Radeon PRO V620"),
            ("Standard_NP10s", "AMD Alveo U250"),
        ] {
            assert_eq!(other_accelerator(name), Some(accelerator));
        }
        assert_eq!(other_accelerator("Standard_D4s_v5"), None);
        assert!(
            MACHINES
                .iter()
                .map(|size| size.machine.name)
                .all(|name| other_accelerator(name).or(unsupported_gpus(name)).is_none())
        );
        for size in RETIRED {
            assert_eq!(unsupported_gpus(size.name), Some(size.gpus));
        }
    }

    #[test]
    fn catalog_machines_belong_to_gpu_families() {
        let names = MACHINES.iter().map(|size| size.machine.name);
        for name in names.filter(|name| cpu_machine(name).is_none()) {
            assert!(has_gpus(name), "{name}");
        }
    }
}
