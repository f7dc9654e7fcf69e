//! Names of Google Cloud regions, zones and machine types, and the machine types that gpuc does not support.

/// Whether `name` has the form of a region: `us-central1`, `northamerica-northeast1`.
pub fn is_region_name(name: &str) -> bool {
    let Some((continent, area)) = name.split_once('-') else {
        return false;
    };
    let direction = area.trim_end_matches(|c: char| c.is_ascii_digit());
    let lowercase = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    lowercase(continent)
        && lowercase(direction)
        && (1..=2).contains(&(area.len() - direction.len()))
}

/// Whether `name` has the form of a zone: `us-central1-a`, or of an AI zone: `us-south1-ai1b`.
pub fn is_zone_name(name: &str) -> bool {
    region_of_zone(name).is_some()
}

/// The region of a zone, from its name.
pub fn region_of_zone(zone: &str) -> Option<&str> {
    let (region, suffix) = zone.rsplit_once('-')?;
    let ([letter] | [b'a', b'i', b'0'..=b'9', letter]) = suffix.as_bytes() else {
        return None;
    };
    (letter.is_ascii_lowercase() && is_region_name(region)).then_some(region)
}

/// Whether `name` has the form of a machine type: `n2-standard-8`, `e2-micro`, or a custom one: `n2-custom-4-8192-ext`.
pub fn is_machine_name(name: &str) -> bool {
    let parts: Vec<_> = name.split('-').collect();
    let word = |part: &&str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if parts.len() < 2
        || !parts.iter().all(word)
        || !name.starts_with(|c: char| c.is_ascii_lowercase())
    {
        return false;
    }
    match parts.iter().position(|part| *part == "custom") {
        Some(at) => at <= 1 && custom_size(&parts[at + 1..]).is_some(),
        None => true,
    }
}

/// The vCPUs and MiB in the name of a custom machine type, after `custom`. Shared-core E2 types have a word for the
/// vCPUs.
pub fn custom_size(parts: &[&str]) -> Option<(u32, u32)> {
    let &[vcpus, memory, ref rest @ ..] = parts else {
        return None;
    };
    let vcpus = match vcpus {
        "micro" | "small" | "medium" => 2,
        number => number.parse().ok()?,
    };
    matches!(rest, [] | ["ext"]).then_some((vcpus, memory.parse().ok()?))
}

/// The accelerator of a machine type without NVIDIA GPUs: `ct5lp-hightpu-4t` has TPUs.
pub fn other_accelerator(name: &str) -> Option<&'static str> {
    let family = name.split('-').next()?;
    let tpu = family
        .strip_prefix("ct")
        .or_else(|| family.strip_prefix("tpu"))?;
    tpu.starts_with(|c: char| c.is_ascii_digit())
        .then_some("Google TPU")
}

/// Whether a machine type belongs to an accelerator-optimized series: `a` and `g`.
///
/// Source: <https://cloud.google.com/compute/docs/accelerator-optimized-machines>, from memory.
pub fn has_gpus(name: &str) -> bool {
    let generation = name.strip_prefix(['a', 'g']);
    generation.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::attachable_gpus::N1_MACHINES;
    use super::super::cpu::cpu_machine;
    use super::super::machines::MACHINES;
    use super::*;

    #[test]
    fn region_names() {
        for name in [
            "us-central1",
            "northamerica-northeast1",
            "europe-west10",
            "africa-south1",
        ] {
            assert!(is_region_name(name), "{name}");
        }
        for name in [
            "",
            "us-east-1",
            "us-central1-a",
            "us-central",
            "central1",
            "us-1",
            "eastus",
        ] {
            assert!(!is_region_name(name), "{name}");
        }
    }

    #[test]
    fn zones_belong_to_their_region() {
        for (zone, region) in [
            ("us-central1-a", Some("us-central1")),
            ("us-south1-ai1b", Some("us-south1")),
            ("us-central1", None),
            ("us-central1-1", None),
            ("us-east-1a", None),
        ] {
            assert_eq!(region_of_zone(zone), region, "{zone}");
            assert_eq!(is_zone_name(zone), region.is_some());
        }
    }

    #[test]
    fn machine_names() {
        assert!(MACHINES.iter().all(|row| is_machine_name(row.machine.name)));
        assert!(
            N1_MACHINES
                .iter()
                .all(|machine| is_machine_name(machine.name))
        );
        for name in [
            "n2-standard-8",
            "e2-micro",
            "custom-4-8192",
            "n2-custom-4-8192-ext",
            "c3-standard-4-lssd",
        ] {
            assert!(is_machine_name(name), "{name}");
        }
        for name in [
            "",
            "n2",
            "n2-",
            "m5.large",
            "N2-standard-8",
            "n2-custom-4",
            "n2-custom-4-lots",
            "8-n2",
        ] {
            assert!(!is_machine_name(name), "{name}");
        }
    }

    #[test]
    fn other_accelerators() {
        for name in [
            "ct4p-hightpu-4t",
            "ct5lp-hightpu-1t",
            "ct6e-standard-4t",
            "tpu7x-standard-4t",
        ] {
            assert_eq!(other_accelerator(name), Some("Google TPU"));
        }
        assert_eq!(other_accelerator("c3-standard-4"), None);
        assert!(
            MACHINES
                .iter()
                .all(|row| other_accelerator(row.machine.name).is_none())
        );
    }

    #[test]
    fn catalog_machines_belong_to_gpu_families() {
        let names = MACHINES.iter().map(|row| row.machine.name);
        for name in names.filter(|name| cpu_machine(name).is_none()) {
            assert!(has_gpus(name), "{name}");
        }
    }
}
