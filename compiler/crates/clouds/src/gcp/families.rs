//! The series and kinds of Compute Engine machine types without accelerators.
//!
//! Source: Cyclenerd/google-cloud-pricing-cost-calculator `tools/machinetypes.csv` @dac31281, 2026-08-20, a list of
//! machine types from gcloud.

use gpuc_model::cloud::MachineName;
use gpuc_syntax::diag::phrases::one_edit_away;

use super::cpu::cpu_machine;
use crate::families::{Families, FamilyName, parse_family};

/// The series.
pub(super) static FAMILIES: Families = Families {
    names: &[
        "c2", "c2d", "c3", "c3d", "c4", "c4a", "c4d", "c4n", "e2", "f1", "h3", "h4d", "m1", "m2",
        "m3", "m4", "m4n", "n1", "n2", "n2d", "n4", "n4a", "n4d", "t2a", "t2d", "x4", "z3",
    ],
    parse: parse_family,
    attributes: "adn",
};

/// The kinds, which determine the memory per vCPU. A custom machine type has its size instead.
const KINDS: &[&str] = &[
    "custom",
    "highcpu",
    "highmem",
    "hypermem",
    "medium",
    "megamem",
    "micro",
    "small",
    "standard",
    "ultramem",
    "ultramem2x",
    "ultramemx",
];

/// Classifies the name of a machine type without accelerators.
pub(super) fn classify(name: &str) -> MachineName {
    let cpu = cpu_machine(name).map_or(MachineName::Plausible, MachineName::Cpu);
    let Some((family, rest)) = name
        .split_once('-')
        .filter(|(family, _)| *family != "custom")
    else {
        return cpu;
    };
    match FAMILIES.classify(family) {
        FamilyName::Unknown => MachineName::Plausible,
        FamilyName::Mistyped(similar) => MachineName::Mistyped(
            similar
                .iter()
                .map(|family| format!("{family}-{rest}"))
                .collect(),
        ),
        FamilyName::Known => match (cpu, mistyped_kind(rest).as_slice()) {
            (MachineName::Plausible, similar @ [_, ..]) => MachineName::Mistyped(
                similar
                    .iter()
                    .map(|rest| format!("{family}-{rest}"))
                    .collect(),
            ),
            (cpu, _) => cpu,
        },
    }
}

/// The kinds of which this is a typo, with what follows them. Empty if the kind is known.
fn mistyped_kind(rest: &str) -> Vec<String> {
    let (kind, size) = rest.split_at(rest.find('-').unwrap_or(rest.len()));
    if KINDS.contains(&kind) {
        return Vec::new();
    }
    let similar = one_edit_away(kind, KINDS.iter().copied()).into_iter();
    similar.map(|kind| format!("{kind}{size}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn typos_are_found_in_series_and_kinds() {
        for (name, similar) in [
            ("n22-standard-8", "n2-standard-8"),
            ("n2dd-highmem-8", "n2d-highmem-8"),
            ("2n-standard-8", "n2-standard-8"),
            ("n2-standrad-8", "n2-standard-8"),
            ("c3-higmem-8-lssd", "c3-highmem-8-lssd"),
            ("n22-custom-4-8192", "n2-custom-4-8192"),
            ("e2-mirco", "e2-micro"),
        ] {
            let expected = MachineName::Mistyped(vec![similar.to_owned()]);
            assert_eq!(classify(name), expected, "{name}");
        }
    }

    #[test]
    fn new_series_and_kinds_are_possible() {
        for name in [
            "c5-standard-8",
            "n5d-highmem-4",
            "k1-standard-4",
            "c4-gigamem-8",
            "c4-standard-8",
        ] {
            assert_eq!(classify(name), MachineName::Plausible, "{name}");
        }
        for name in ["n2-standard-8", "custom-4-8192", "n2-custom-4-8192"] {
            assert!(matches!(classify(name), MachineName::Cpu(_)), "{name}");
        }
    }

    #[test]
    fn series_have_no_accelerators() {
        assert!(FAMILIES.names.is_sorted() && KINDS.is_sorted());
        for family in FAMILIES.names {
            let name = format!("{family}-standard-8");
            assert!(names::is_machine_name(&name), "{name}");
            assert_eq!(names::other_accelerator(&name), None, "{name}");
        }
    }
}
