//! Names of AWS regions, zones and machine types, and the machine types that gpuc does not support.
//!
//! AWS adds regions and types faster than a list is updated, so these functions check the format of a name.

/// Whether a name has the format of a region: `us-east-1`, `us-gov-west-1`, `cn-north-1`.
pub fn is_region_name(name: &str) -> bool {
    let Some((area, number)) = name.rsplit_once('-') else {
        return false;
    };
    let words: Vec<_> = area.split('-').collect();
    let lowercase = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    (2..=3).contains(&words.len())
        && words.iter().all(lowercase)
        && (2..=4).contains(&words[0].len())
        && (1..=2).contains(&number.len())
        && number.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a name has the format of an Availability Zone, `us-east-1a`, or of a Local or Wavelength Zone,
/// `us-west-2-lax-1a`.
pub fn is_zone_name(name: &str) -> bool {
    region_of_zone(name).is_some()
}

/// The region in the name of a zone.
pub fn region_of_zone(zone: &str) -> Option<&str> {
    let before_letter = zone.strip_suffix(|c: char| c.is_ascii_lowercase());
    if let Some(region) = before_letter.filter(|region| is_region_name(region)) {
        return Some(region);
    }
    // The name of a Local Zone is the region, further words, and a number with or without a letter.
    let hyphens = zone.match_indices('-').map(|(at, _)| at);
    let region = hyphens
        .map(|at| &zone[..at])
        .find(|region| is_region_name(region))?;
    let suffix = &zone[region.len() + 1..];
    let (words, number) = suffix.rsplit_once('-')?;
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let numbered = number.starts_with(|c: char| c.is_ascii_digit()) && plain(number);
    (words.split('-').all(plain) && numbered).then_some(region)
}

/// Whether a name has the format of an instance type: `m7i.xlarge`, `p6-b200.48xlarge`.
pub fn is_machine_name(name: &str) -> bool {
    let is_segment = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    name.split_once('.').is_some_and(|(family, size)| {
        family.starts_with(|c: char| c.is_ascii_lowercase())
            && is_segment(family)
            && is_segment(size)
    })
}

/// The accelerator of an instance type that gpuc does not support. Families from general knowledge.
pub fn other_accelerator(name: &str) -> Option<&'static str> {
    let (family, _) = name.split_once('.')?;
    Some(match family {
        "g4ad" => "AMD Radeon Pro V520",
        "inf1" => "AWS Inferentia",
        "inf2" => "AWS Inferentia2",
        "trn1" | "trn1n" => "AWS Trainium",
        "trn2" | "trn2u" => "AWS Trainium2",
        "dl1" => "Intel Gaudi",
        "dl2q" => "Qualcomm AI 100",
        "vt1" => "AMD Alveo U30",
        "f1" | "f2" => "AMD FPGA",
        _ => return None,
    })
}

/// Whether a text has the form of a zone ID, such as `use1-az3`. The names of zones differ between accounts, their IDs
/// do not.
pub fn is_zone_id(text: &str) -> bool {
    text.split_once("-az").is_some_and(|(region, number)| {
        let is_word = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric());
        is_word(region) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The NVIDIA GPUs of an instance type of an old family that the catalog omits. Families from general knowledge.
pub fn unsupported_gpus(name: &str) -> Option<&'static str> {
    let (family, _) = name.split_once('.')?;
    Some(match family {
        "g2" => "NVIDIA GRID K520",
        "p2" => "NVIDIA Tesla K80",
        "g3" | "g3s" => "NVIDIA Tesla M60",
        _ => return None,
    })
}

/// Whether an instance type belongs to a series with GPUs: `g` and `gr` for graphics, `p` for compute.
///
/// Source: <https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html>, from memory.
pub fn has_gpus(name: &str) -> bool {
    let generations = ["g", "gr", "p"].map(|series| name.strip_prefix(series));
    let mut generations = generations.into_iter().flatten();
    generations.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::cpu::cpu_machine;
    use super::super::machines::MACHINES;
    use super::*;

    #[test]
    fn regions() {
        for name in [
            "us-east-1",
            "ap-southeast-2",
            "us-gov-west-1",
            "cn-north-1",
            "eusc-de-east-1",
        ] {
            assert!(is_region_name(name), "{name}");
        }
        for name in [
            "",
            "us-east",
            "us-east-1a",
            "us-central1",
            "US-EAST-1",
            "us--1",
            "eastus",
        ] {
            assert!(!is_region_name(name), "{name}");
        }
    }

    #[test]
    fn zone_names_contain_the_region() {
        for (zone, region) in [
            ("us-east-1a", Some("us-east-1")),
            ("us-west-2-lax-1a", Some("us-west-2")),
            ("us-east-1-wl1-bos-wlz-1", Some("us-east-1")),
            ("us-gov-west-1b", Some("us-gov-west-1")),
            ("us-east-1", None),
            ("us-east-1A", None),
            ("us-east-1-", None),
            ("us-central1-a", None),
        ] {
            assert_eq!(region_of_zone(zone), region, "{zone}");
            assert_eq!(is_zone_name(zone), region.is_some());
        }
    }

    #[test]
    fn machines() {
        assert!(MACHINES.iter().all(|it| is_machine_name(it.machine.name)));
        for name in ["m7i-flex.large", "c5.9xlarge", "u-6tb1.metal"] {
            assert!(is_machine_name(name), "{name}");
        }
        for name in [
            "",
            "m5",
            ".large",
            "m5.",
            "n2-standard-8",
            "M5.large",
            "5m.large",
            "m5.la rge",
        ] {
            assert!(!is_machine_name(name), "{name}");
        }
    }

    #[test]
    fn others() {
        assert_eq!(
            other_accelerator("g4ad.xlarge"),
            Some("AMD Radeon Pro V520")
        );
        assert_eq!(other_accelerator("trn2.48xlarge"), Some("AWS Trainium2"));
        assert_eq!(other_accelerator("m5.large"), None);
        assert_eq!(unsupported_gpus("p2.xlarge"), Some("NVIDIA Tesla K80"));
        assert!(
            MACHINES
                .iter()
                .map(|it| it.machine.name)
                .all(|name| other_accelerator(name).or(unsupported_gpus(name)).is_none())
        );
    }

    #[test]
    fn catalog_machines_are_in_gpu_families() {
        let own = MACHINES.iter().map(|it| it.machine.name);
        for name in own.filter(|name| cpu_machine(name).is_none()) {
            assert!(has_gpus(name), "{name}");
        }
    }
}
