//! Placement of MIG devices on a GPU, or the reason why they do not fit.

use std::fmt;

use super::mig::{Mig, MigProfile};

/// The placement of one MIG device on the GPU's memory slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placement {
    /// The first memory slice.
    pub start: u8,
    /// The number of memory slices.
    pub size: u8,
    /// The profile's name.
    pub profile: &'static str,
}

/// The error if MIG devices do not fit on one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementError {
    /// The requested geometry: `2 x 3g.20gb + 1 x 1g.5gb`.
    pub wanted: String,
    /// The first violated rule.
    pub reason: BrokenRule,
}

/// A rule for MIG geometries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenRule {
    /// The profile belongs to another GPU model.
    OtherModel {
        /// The profile's name.
        profile: &'static str,
    },
    /// More MIG devices of a profile than a GPU supports.
    TooMany {
        /// The profile's name.
        profile: &'static str,
        /// The requested number.
        wanted: u32,
        /// The maximum number.
        max: u32,
    },
    /// More compute slices than the GPU has.
    ComputeSlices {
        /// The requested number.
        wanted: u32,
        /// The available number.
        have: u32,
    },
    /// More memory slices than the GPU has. Two `3g` use all eight, although one compute slice remains free.
    MemorySlices {
        /// The requested number.
        wanted: u32,
        /// The available number.
        have: u32,
    },
    /// More than one MIG device with the GPU's only set of media extensions.
    MediaExtensions {
        /// The number of MIG devices with media extensions.
        wanted: u32,
    },
    /// More video decoders than the GPU has.
    Decoders {
        /// The requested number.
        wanted: u32,
        /// The available number.
        have: u32,
    },
    /// The sums fit, but there is no valid placement.
    NoArrangement,
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            wanted: layout,
            reason,
        } = self;
        match reason {
            BrokenRule::OtherModel { profile } => {
                write!(f, "{profile} is not a MIG profile of this GPU model")
            }
            BrokenRule::TooMany {
                profile,
                wanted,
                max,
            } => {
                write!(
                    f,
                    "{wanted} x {profile} exceeds the maximum of {max} on one GPU"
                )
            }
            BrokenRule::ComputeSlices { wanted, have } => {
                write!(f, "{layout} needs {wanted} of {have} compute slices")
            }
            BrokenRule::MemorySlices { wanted, have } => {
                write!(f, "{layout} needs {wanted} of {have} memory slices")
            }
            BrokenRule::MediaExtensions { wanted } => {
                write!(
                    f,
                    "{layout} needs the media extensions {wanted} times, but a GPU has them once"
                )
            }
            BrokenRule::Decoders { wanted, have } => {
                write!(f, "{layout} needs {wanted} of {have} video decoders")
            }
            BrokenRule::NoArrangement => {
                write!(
                    f,
                    "{layout} fits in total, but has no valid placement on the GPU"
                )
            }
        }
    }
}

impl std::error::Error for PlacementError {}

/// Places MIG devices on an empty GPU, in the order of memory slices. The result is deterministic.
pub fn find_placement(
    mig: &Mig,
    wanted: &[(&MigProfile, u32)],
) -> Result<Vec<Placement>, PlacementError> {
    let requests = merge_by_profile(wanted);
    if let Some(reason) = find_broken_rule(mig, &requests) {
        return Err(placement_error(&requests, reason));
    }
    let mut instances: Vec<&MigProfile> = requests
        .iter()
        .flat_map(|(profile, count)| (0..*count).map(|_| *profile))
        .collect();
    // Largest first: they have the fewest possible placements. The sort is stable, so equal profiles stay together.
    instances
        .sort_by_key(|profile| std::cmp::Reverse((profile.memory_slices, profile.compute_slices)));

    let mut placed = Vec::with_capacity(instances.len());
    if !search(&instances, &mut placed) {
        return Err(placement_error(&requests, BrokenRule::NoArrangement));
    }
    placed.sort_unstable();
    Ok(placed)
}

/// A diagram of the geometry, one cell per memory slice: `|3g.20gb |1g.5gb|......|`.
pub fn diagram(placements: &[Placement], mig: &Mig) -> String {
    // Diagrams of one GPU model have the same scale, unless a long name needs more space.
    let plain = mig
        .profiles
        .iter()
        .filter(|profile| !profile.name.contains(['+', '-']));
    let profile_widths = plain.map(|profile| narrowest_cell(profile.name, profile.memory_slices));
    let placed_widths = placements
        .iter()
        .map(|it| narrowest_cell(it.profile, it.size));
    let cell = profile_widths.chain(placed_widths).max().unwrap_or(1);
    let mut cells = Vec::new();
    let mut slice = 0;
    while slice < mig.memory_slices {
        if let Some(placement) = placements.iter().find(|placement| placement.start == slice) {
            let width = usize::from(placement.size) * (cell + 1) - 1;
            cells.push(format!("{:<width$}", placement.profile));
            slice += placement.size;
        } else {
            cells.push(".".repeat(cell));
            slice += 1;
        }
    }
    format!("|{}|", cells.join("|"))
}

/// The minimum width of a cell for the name of the MIG device; the bars between its cells count as space.
fn narrowest_cell(name: &str, size: u8) -> usize {
    (name.len() + 1).div_ceil(usize::from(size)) - 1
}

/// One entry per profile, in the order of first mention, without entries with count 0.
fn merge_by_profile<'a>(wanted: &[(&'a MigProfile, u32)]) -> Vec<(&'a MigProfile, u32)> {
    let mut merged: Vec<(&MigProfile, u32)> = Vec::new();
    for &(profile, count) in wanted.iter().filter(|(_, count)| *count > 0) {
        match merged
            .iter_mut()
            .find(|(known, _)| known.name == profile.name)
        {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None => merged.push((profile, count)),
        }
    }
    merged
}

/// Checks the rules that need no search. The counts are checked first, so that the sums cannot overflow.
fn find_broken_rule(mig: &Mig, requests: &[(&MigProfile, u32)]) -> Option<BrokenRule> {
    for &(profile, wanted) in requests {
        if mig.profile(profile.name).is_none() {
            return Some(BrokenRule::OtherModel {
                profile: profile.name,
            });
        }
        if wanted > profile.max_instances {
            return Some(BrokenRule::TooMany {
                profile: profile.name,
                wanted,
                max: profile.max_instances,
            });
        }
    }
    let sum = |field: fn(&MigProfile) -> u8| -> u32 {
        requests
            .iter()
            .map(|(profile, count)| u32::from(field(profile)) * count)
            .sum()
    };

    let (wanted, have) = (
        sum(|profile| profile.compute_slices),
        u32::from(mig.compute_slices),
    );
    if wanted > have {
        return Some(BrokenRule::ComputeSlices { wanted, have });
    }
    let (wanted, have) = (
        sum(|profile| profile.memory_slices),
        u32::from(mig.memory_slices),
    );
    if wanted > have {
        return Some(BrokenRule::MemorySlices { wanted, have });
    }
    let wanted = sum(|profile| u8::from(profile.media_extensions));
    if wanted > 1 {
        return Some(BrokenRule::MediaExtensions { wanted });
    }
    let wanted = sum(|profile| profile.decoders);
    match mig.decoders.map(u32::from) {
        Some(have) if wanted > have => Some(BrokenRule::Decoders { wanted, have }),
        _ => None,
    }
}

/// Tries every placement of the next MIG device, then recurses. MIG devices of one profile are interchangeable, so each
/// one starts after the previous one. With at most seven devices, the search needs a few thousand steps.
fn search(instances: &[&MigProfile], placed: &mut Vec<Placement>) -> bool {
    let Some(profile) = instances.get(placed.len()) else {
        return true;
    };
    let first_start = placed
        .last()
        .filter(|last| last.profile == profile.name)
        .map_or(0, |last| last.start + 1);
    for &start in profile.starts.iter().filter(|start| **start >= first_start) {
        let candidate = Placement {
            start,
            size: profile.memory_slices,
            profile: profile.name,
        };
        if placed.iter().any(|other| overlaps(other, &candidate)) {
            continue;
        }
        placed.push(candidate);
        if search(instances, placed) {
            return true;
        }
        placed.pop();
    }
    false
}

fn overlaps(a: &Placement, b: &Placement) -> bool {
    a.start < b.start + b.size && b.start < a.start + a.size
}

fn placement_error(wanted: &[(&MigProfile, u32)], reason: BrokenRule) -> PlacementError {
    let descriptions: Vec<_> = wanted
        .iter()
        .map(|(profile, count)| format!("{count} x {}", profile.name))
        .collect();
    PlacementError {
        wanted: descriptions.join(" + "),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MODELS, find, mig_tables};
    use super::*;

    type Request = (&'static str, u32);

    fn try_place(
        mig: &'static Mig,
        requests: &[Request],
    ) -> Result<Vec<Placement>, PlacementError> {
        let wanted: Vec<_> = requests
            .iter()
            .map(|(name, count)| (mig.profile(name).expect(name), *count))
            .collect();
        find_placement(mig, &wanted)
    }

    fn diagram_of(mig: &'static Mig, wanted: &[Request]) -> String {
        match try_place(mig, wanted) {
            Ok(placements) => diagram(&placements, mig),
            Err(error) => error.to_string(),
        }
    }

    /// Valid and invalid geometries according to the MIG User Guide and the transcripts.
    #[test]
    fn worked_examples() {
        let (a100, h100, rtx) = (
            &mig_tables::A100_40GB,
            &mig_tables::H100_80GB,
            &mig_tables::RTX_PRO_6000,
        );
        let memory = |wanted| Some(BrokenRule::MemorySlices { wanted, have: 8 });
        let examples: [(&'static Mig, &[Request], Option<BrokenRule>); 10] = [
            (a100, &[("3g.20gb", 1), ("2g.10gb", 1), ("1g.5gb", 2)], None),
            (a100, &[("2g.10gb", 1), ("1g.5gb", 5)], None),
            (a100, &[("3g.20gb", 2), ("1g.5gb", 1)], memory(9)),
            (
                a100,
                &[("4g.20gb", 1), ("1g.10gb", 2), ("1g.5gb", 1)],
                memory(9),
            ),
            (h100, &[("4g.40gb", 1), ("3g.40gb", 1)], None),
            (h100, &[("2g.20gb", 3), ("1g.20gb", 1)], None),
            (h100, &[("3g.40gb", 2), ("1g.10gb", 1)], memory(9)),
            (h100, &[("2g.20gb", 2), ("1g.20gb", 3)], memory(10)),
            (rtx, &[("2g.48gb", 1), ("1g.24gb", 2)], None),
            (
                rtx,
                &[("4g.96gb", 1), ("1g.24gb", 1)],
                Some(BrokenRule::ComputeSlices { wanted: 5, have: 4 }),
            ),
        ];
        for (mig, wanted, reason) in examples {
            assert_eq!(
                try_place(mig, wanted).err().map(|error| error.reason),
                reason,
                "{wanted:?}"
            );
        }
    }

    #[test]
    fn max_instances_of_every_profile_fit() {
        for model in MODELS {
            let Some(mig) = model.mig else { continue };
            for profile in mig.profiles {
                let max = profile.max_instances;
                assert!(
                    find_placement(mig, &[(profile, max)]).is_ok(),
                    "{} {}",
                    model.key,
                    profile.name
                );
                let error = find_placement(mig, &[(profile, max + 1)]).expect_err("one too many");
                assert!(matches!(error.reason, BrokenRule::TooMany { .. }));
            }
        }
    }

    /// Rows of mig-parted's default configuration (NVIDIA/mig-parted@bd7160f4), which its authors test on such GPUs.
    #[test]
    fn mig_parted_default_configurations_fit() {
        let rows: [(&str, &[Request]); 16] = [
            ("a100-sxm4-40gb", &[("1g.10gb", 4)]),
            (
                "a100-pcie-40gb",
                &[("1g.5gb", 2), ("2g.10gb", 1), ("3g.20gb", 1)],
            ),
            ("a100-sxm4-80gb", &[("1g.10gb", 7)]),
            (
                "a100-pcie-80gb",
                &[("1g.10gb", 2), ("2g.20gb", 1), ("3g.40gb", 1)],
            ),
            ("a30-24gb", &[("1g.6gb", 2), ("2g.12gb", 1)]),
            (
                "h100-sxm5-80gb",
                &[("1g.10gb", 2), ("2g.20gb", 1), ("3g.40gb", 1)],
            ),
            (
                "h100-nvl-94gb",
                &[("1g.12gb", 2), ("2g.24gb", 1), ("3g.47gb", 1)],
            ),
            (
                "gh200-96gb",
                &[("1g.12gb", 2), ("2g.24gb", 1), ("3g.48gb", 1)],
            ),
            (
                "h200-sxm5-141gb",
                &[("1g.18gb", 2), ("2g.35gb", 1), ("3g.71gb", 1)],
            ),
            ("h200-nvl-141gb", &[("1g.18gb", 7)]),
            (
                "b200-sxm6-180gb",
                &[("1g.23gb", 2), ("2g.45gb", 1), ("3g.90gb", 1)],
            ),
            (
                "b300-sxm6-270gb",
                &[("1g.34gb", 2), ("2g.67gb", 1), ("3g.135gb", 1)],
            ),
            (
                "gb200-186gb",
                &[("1g.23gb", 2), ("2g.47gb", 1), ("3g.93gb", 1)],
            ),
            (
                "gb300-279gb",
                &[("1g.35gb", 2), ("2g.70gb", 1), ("3g.139gb", 1)],
            ),
            (
                "rtx-pro-6000-server-96gb",
                &[("1g.24gb", 2), ("2g.48gb", 1)],
            ),
            ("rtx-pro-6000-server-96gb", &[("2g.48gb-me", 2)]),
        ];
        for (model, wanted) in rows {
            let mig = find(model).expect(model).mig.expect("a card with MIG");
            assert!(try_place(mig, wanted).is_ok(), "{model} {wanted:?}");
        }
    }

    /// With these tables, a geometry that fits in total always has a placement: an exhaustive search by the tables'
    /// authors found no exception either.
    #[test]
    fn geometries_that_fit_in_total_have_a_placement() {
        let mig = &mig_tables::A100_40GB;
        let mut fits = 0;
        for code in 0..8 * 2 * 5 * 4 * 3 * 2 * 2 {
            let mut rest = code;
            let wanted: Vec<_> = mig
                .profiles
                .iter()
                .map(|profile| {
                    let count = rest % (profile.max_instances + 1);
                    rest /= profile.max_instances + 1;
                    (profile, count)
                })
                .collect();
            match find_placement(mig, &wanted) {
                Ok(placements) => {
                    fits += 1;
                    assert!(placements.is_sorted_by(|a, b| a.start + a.size <= b.start));
                }
                Err(error) => assert_ne!(error.reason, BrokenRule::NoArrangement, "{error}"),
            }
        }
        assert!(fits > 100);
    }

    #[test]
    fn media_extensions_are_exclusive() {
        let error = try_place(&mig_tables::A30, &[("1g.6gb+me", 1), ("2g.12gb+me", 1)]);
        assert_eq!(
            error.expect_err("two sets").to_string(),
            "1 x 1g.6gb+me + 1 x 2g.12gb+me needs the media extensions 2 times, but a GPU has them once",
        );
    }

    #[test]
    fn all_decoders_exclude_other_decoders() {
        let rtx = &mig_tables::RTX_PRO_6000;
        assert_eq!(
            diagram_of(rtx, &[("1g.24gb+me.all", 1), ("1g.24gb", 1)]),
            "1 x 1g.24gb+me.all + 1 x 1g.24gb needs 5 of 4 video decoders",
        );
        assert!(try_place(rtx, &[("1g.24gb+me.all", 1), ("1g.24gb-me", 3)]).is_ok());
    }

    #[test]
    fn repeated_profiles_are_summed() {
        assert_eq!(
            diagram_of(&mig_tables::A100_40GB, &[("3g.20gb", 2), ("3g.20gb", 1)]),
            "3 x 3g.20gb exceeds the maximum of 2 on one GPU",
        );
        assert_eq!(
            diagram_of(
                &mig_tables::A100_40GB,
                &[("3g.20gb", 2), ("2g.10gb", 0), ("1g.5gb", 1)]
            ),
            "2 x 3g.20gb + 1 x 1g.5gb needs 9 of 8 memory slices",
        );
    }

    #[test]
    fn profile_of_another_model_is_an_error() {
        let other = mig_tables::H200_141GB
            .profile("1g.18gb")
            .expect("a profile");
        let error = find_placement(&mig_tables::A30, &[(other, 1)]).expect_err("not an A30's");
        assert_eq!(
            error.to_string(),
            "1g.18gb is not a MIG profile of this GPU model"
        );
    }

    #[test]
    fn diagrams_are_to_scale() {
        assert_eq!(
            diagram_of(&mig_tables::A100_40GB, &[("1g.5gb", 2), ("3g.20gb", 1)]),
            "|3g.20gb                    |1g.5gb|1g.5gb|......|......|",
        );
        assert_eq!(
            diagram_of(&mig_tables::H100_80GB, &[("4g.40gb", 1), ("3g.40gb", 1)]),
            "|4g.40gb                        |3g.40gb                        |",
        );
        assert_eq!(
            diagram_of(&mig_tables::A30, &[]),
            "|......|......|......|......|"
        );
    }
}
