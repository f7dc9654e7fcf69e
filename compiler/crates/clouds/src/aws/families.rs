//! The families and sizes of EC2 instance types without accelerators.
//!
//! Source: the enum `InstanceType` of botocore 1.43.62, `data/ec2/2016-11-15/service-2.json`.

use gpuc_model::cloud::MachineName;
use gpuc_syntax::diag::phrases::one_edit_away;

use super::cpu::cpu_machine;
use crate::families::{Families, Family, FamilyName, parse_family};

/// The families. The letters of attributes are those of docs.aws.amazon.com/ec2/latest/instancetypes, Instance type
/// names, from memory.
pub(super) static FAMILIES: Families = Families {
    names: NAMES,
    parse,
    attributes: "abdeginqsz",
};

/// The words of sizes. A number before `xlarge` and a size after `metal` vary.
const SIZES: [&str; 7] = [
    "nano", "micro", "small", "medium", "large", "xlarge", "metal",
];

#[rustfmt::skip] // A list of names.
static NAMES: &[&str] = &[
    "a1", "c1", "c3", "c4", "c5", "c5a", "c5ad", "c5d", "c5n", "c6a", "c6g", "c6gd", "c6gn", "c6i", "c6id", "c6in",
    "c7a", "c7g", "c7gd", "c7gn", "c7i", "c7i-flex", "c8a", "c8g", "c8gb", "c8gd", "c8gn", "c8i", "c8i-flex", "c8ib",
    "c8id", "c8in", "c8ine", "c9g", "c9gd", "cc1", "cc2", "cr1", "d2", "d3", "d3en", "h1", "hi1", "hpc6a", "hpc6id",
    "hpc7a", "hpc7g", "hpc8a", "hs1", "i2", "i3", "i3en", "i4g", "i4i", "i7i", "i7ie", "i8g", "i8ge", "im4gn",
    "is4gen", "m1", "m2", "m3", "m4", "m5", "m5a", "m5ad", "m5d", "m5dn", "m5n", "m5zn", "m6a", "m6g", "m6gd", "m6i",
    "m6id", "m6idn", "m6in", "m7a", "m7g", "m7gd", "m7i", "m7i-flex", "m8a", "m8azn", "m8g", "m8gb", "m8gd", "m8gn",
    "m8i", "m8i-flex", "m8ib", "m8id", "m8idb", "m8idn", "m8in", "m8ine", "m9g", "m9gd", "mac-m3ultra", "mac-m4",
    "mac-m4max", "mac-m4pro", "mac1", "mac2", "mac2-m1ultra", "mac2-m2", "mac2-m2pro", "r3", "r4", "r5", "r5a",
    "r5ad", "r5b", "r5d", "r5dn", "r5n", "r6a", "r6g", "r6gd", "r6i", "r6id", "r6idn", "r6in", "r7a", "r7g", "r7gd",
    "r7i", "r7iz", "r8a", "r8g", "r8gb", "r8gd", "r8gn", "r8i", "r8i-flex", "r8ib", "r8id", "r8idb", "r8idn", "r8in",
    "t1", "t2", "t3", "t3a", "t4g", "u-12tb1", "u-18tb1", "u-24tb1", "u-3tb1", "u-6tb1", "u-9tb1", "u7i-12tb",
    "u7i-6tb", "u7i-8tb", "u7ib-12tb", "u7in-16tb", "u7in-24tb", "u7in-32tb", "u7inh-32tb", "x1", "x1e", "x2gd",
    "x2idn", "x2iedn", "x2iezn", "x8aedz", "x8g", "x8i", "z1d",
];

/// Classifies the name of an instance type without accelerators.
pub(super) fn classify(name: &str) -> MachineName {
    let Some((family, size)) = name.split_once('.') else {
        return MachineName::Impossible;
    };
    match FAMILIES.classify(family) {
        FamilyName::Unknown => MachineName::Plausible,
        FamilyName::Mistyped(similar) => MachineName::Mistyped(
            similar
                .iter()
                .map(|family| format!("{family}.{size}"))
                .collect(),
        ),
        FamilyName::Known => match (cpu_machine(name), mistyped_size(size).as_slice()) {
            (Some(cpu), _) => MachineName::Cpu(cpu),
            (None, []) => MachineName::Plausible,
            (None, similar) => MachineName::Mistyped(
                similar
                    .iter()
                    .map(|size| format!("{family}.{size}"))
                    .collect(),
            ),
        },
    }
}

/// The sizes of which this is a typo. Empty if its word is known.
fn mistyped_size(size: &str) -> Vec<String> {
    let (size, suffix) = size.split_at(size.find('-').unwrap_or(size.len()));
    let word = size.trim_start_matches(|c: char| c.is_ascii_digit());
    if SIZES.contains(&word) {
        return Vec::new();
    }
    let number = &size[..size.len() - word.len()];
    let similar = one_edit_away(word, SIZES).into_iter();
    similar
        .map(|word| format!("{number}{word}{suffix}"))
        .collect()
}

/// The parts of a family. `-flex` and the like after the attributes are part of the series.
fn parse(name: &str) -> Option<Family<'_>> {
    parse_family(name.strip_suffix("-flex").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    fn mistyped(names: &[&str]) -> MachineName {
        MachineName::Mistyped(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn typos_are_found_in_families_and_sizes() {
        for (name, similar) in [
            ("m7ii.xlarge", &["m7i.xlarge"][..]),
            ("mi7.xlarge", &["m7i.xlarge"]),
            ("c5nn.2xlarge", &["c5n.2xlarge"]),
            ("m7x.xlarge", &["m7a.xlarge", "m7g.xlarge", "m7i.xlarge"]),
            ("m7i.xlrage", &["m7i.xlarge"]),
            ("m7i.xxlarge", &["m7i.xlarge"]),
            ("m7i.12xlage", &["m7i.12xlarge"]),
            ("m7i.metla-24xl", &["m7i.metal-24xl"]),
        ] {
            assert_eq!(classify(name), mistyped(similar), "{name}");
        }
    }

    #[test]
    fn new_families_and_sizes_are_possible() {
        for name in [
            "m10g.xlarge",
            "c9i.xlarge",
            "r9id.large",
            "m8ad.xlarge",
            "q1.large",
            "x8g.large",
            "m7i.metal-24xl",
        ] {
            assert_eq!(classify(name), MachineName::Plausible, "{name}");
        }
        assert!(matches!(classify("m7i.xlarge"), MachineName::Cpu(_)));
    }

    #[test]
    fn families_have_no_accelerators() {
        assert!(NAMES.is_sorted());
        for family in NAMES {
            let name = format!("{family}.large");
            assert!(!names::has_gpus(&name), "{name}");
            assert_eq!(names::other_accelerator(&name), None, "{name}");
        }
    }
}
