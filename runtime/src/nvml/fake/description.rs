//! Parses the description of a machine: `h100x2:mig=3g.40gb,1g.10gb*4+l4x2`.

use std::fmt;

use gpuc_schema::gpu::{self, FindError, GpuModel, MODELS, MigProfile, placement};

/// Maximum number of GPUs of a machine: four times that of any product, and small enough to catch typing errors.
const MAX_GPUS: u32 = 64;

/// GPUs of one model and MIG layout.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) model: &'static GpuModel,
    pub(super) count: u32,
    /// The MIG devices of each GPU; `None` if MIG mode is off.
    pub(super) mig: Option<Vec<placement::Placement>>,
}

/// The error of an invalid machine description, with valid alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMachine(pub(super) String);

impl fmt::Display for UnknownMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownMachine {}

/// Parses a machine description, group by group.
pub(super) fn parse(words: &str) -> Result<Vec<Group>, UnknownMachine> {
    let groups: Vec<Group> = words
        .split('+')
        .map(parse_group)
        .collect::<Result<_, _>>()?;
    let count: u32 = groups.iter().map(|group| group.count).sum();
    if count > MAX_GPUS {
        let message = format!("`{words}` has {count} GPUs: the maximum is {MAX_GPUS}");
        return Err(UnknownMachine(message));
    }
    Ok(groups)
}

/// Returns the placements of profiles with counts, `3g.40gb,1g.10gb*4`, on a GPU model.
pub(super) fn place_profiles(
    model: &GpuModel,
    profiles: &str,
) -> Result<Vec<placement::Placement>, UnknownMachine> {
    let Some(mig) = model.mig else {
        return Err(UnknownMachine(format!(
            "{} does not support MIG",
            model.key
        )));
    };
    let mut wanted: Vec<(&MigProfile, u32)> = Vec::new();
    for word in profiles.split(',').filter(|word| !word.is_empty()) {
        let (name, count) = match word.split_once('*') {
            Some((name, digits)) => (name, digits.parse().ok()),
            None => (word, Some(1)),
        };
        let Some(count) = count else {
            let message = format!(
                "invalid MIG profile `{word}`: write a profile with a count, such as `1g.10gb*7`"
            );
            return Err(UnknownMachine(message));
        };
        let named_profile =
            |profile: &&MigProfile| profile.name == name || profile.name.replace('+', ".") == name;
        let Some(profile) = mig.profiles.iter().find(named_profile) else {
            let names: Vec<_> = mig.profile_names().map(|it| it.replace('+', ".")).collect();
            return Err(UnknownMachine(format!(
                "{} has no MIG profile `{name}`; available: {}",
                model.key,
                names.join(", ")
            )));
        };
        wanted.push((profile, count));
    }
    placement::find_placement(mig, &wanted)
        .map_err(|error| UnknownMachine(format!("{}: {error}", model.key)))
}

fn parse_group(words: &str) -> Result<Group, UnknownMachine> {
    let (gpu_name, layout) = match words.split_once(':') {
        Some((model, layout)) => (model, Some(layout)),
        None => (words, None),
    };
    let (model, count) = parse_model_and_count(gpu_name)?;
    let mig = match layout {
        None => None,
        Some("mig") => Some(place_profiles(model, "")?),
        Some(layout) => {
            let Some(profiles) = layout.strip_prefix("mig=") else {
                let message =
                    format!("invalid MIG layout `{layout}`: write `mig=1g.10gb*7` or `mig`");
                return Err(UnknownMachine(message));
            };
            Some(place_profiles(model, profiles)?)
        }
    };
    Ok(Group { model, count, mig })
}

/// Parses `h100x8`, or `h100` for one. No name of a GPU model ends in `x` and digits.
fn parse_model_and_count(words: &str) -> Result<(&'static GpuModel, u32), UnknownMachine> {
    let counted = words.rsplit_once('x').filter(|(_, digits)| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (name, count) = match counted {
        Some((name, digits)) => (name, digits.parse().unwrap_or(u32::MAX)),
        None => (words, 1),
    };
    if count == 0 || count > MAX_GPUS {
        return Err(UnknownMachine(format!(
            "`{words}`: the number of GPUs must be 1 to {MAX_GPUS}"
        )));
    }
    Ok((find_model(name)?, count))
}

fn find_model(name: &str) -> Result<&'static GpuModel, UnknownMachine> {
    let message = match gpu::find(name) {
        Ok(model) => return Ok(model),
        Err(FindError::Ambiguous(models)) => {
            let keys: Vec<_> = models.iter().map(|model| model.key).collect();
            format!(
                "ambiguous GPU model `{name}`; candidates: {}",
                keys.join(", ")
            )
        }
        Err(FindError::Unknown) => {
            format!(
                "unknown GPU model `{name}`; known models: {}",
                similar_keys(name).join(", ")
            )
        }
    };
    Err(UnknownMachine(message))
}

/// Returns the keys with the longest common prefix; all keys if there is none.
fn similar_keys(word: &str) -> Vec<&'static str> {
    let shared = |key: &str| {
        let is_same_letter = |(one, other): &(u8, u8)| one.eq_ignore_ascii_case(other);
        key.bytes()
            .zip(word.bytes())
            .take_while(is_same_letter)
            .count()
    };
    let longest = MODELS.iter().map(|model| shared(model.key)).max();
    MODELS
        .iter()
        .map(|model| model.key)
        .filter(|key| Some(shared(key)) == longest)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed_groups(words: &str) -> Vec<(&'static str, u32, Option<usize>)> {
        parse(words)
            .expect(words)
            .iter()
            .map(|group| {
                let slices = group.mig.as_ref().map(Vec::len);
                (group.model.key, group.count, slices)
            })
            .collect()
    }

    fn parse_error(words: &str) -> String {
        parse(words).expect_err(words).to_string()
    }

    #[test]
    fn descriptions_are_parsed() {
        assert_eq!(parsed_groups("h100x8"), [("h100-sxm5-80gb", 8, None)]);
        assert_eq!(
            parsed_groups("a100-sxm4-40gbx4"),
            [("a100-sxm4-40gb", 4, None)]
        );
        assert_eq!(parsed_groups("L4"), [("l4-24gb", 1, None)]);
        assert_eq!(
            parsed_groups("rtx-pro-6000x2"),
            [("rtx-pro-6000-server-96gb", 2, None)]
        );
        assert_eq!(
            parsed_groups("h100x2:mig=3g.40gb,1g.10gb.me,1g.10gb*3+h100:mig+t4x3"),
            [
                ("h100-sxm5-80gb", 2, Some(5)),
                ("h100-sxm5-80gb", 1, Some(0)),
                ("t4-16gb", 3, None)
            ],
        );
    }

    #[test]
    fn invalid_descriptions_get_suggestions() {
        for (words, message) in [
            (
                "h1000x8",
                "unknown GPU model `h1000`; known models: h100-nvl-94gb, h100-pcie-80gb, h100-sxm5-80gb",
            ),
            (
                "v100x8",
                "ambiguous GPU model `v100`; candidates: v100-pcie-16gb, v100-sxm2-16gb, v100-sxm2-32gb",
            ),
            ("h100x0", "`h100x0`: the number of GPUs must be 1 to 64"),
            (
                "h100x99999999999",
                "`h100x99999999999`: the number of GPUs must be 1 to 64",
            ),
            (
                "h100x60+l4x5",
                "`h100x60+l4x5` has 65 GPUs: the maximum is 64",
            ),
            ("l4:mig=1g.5gb", "l4-24gb does not support MIG"),
            (
                "a30:mig=1g.5gb",
                "a30-24gb has no MIG profile `1g.5gb`; available: 1g.6gb, 1g.6gb.me, 2g.12gb, 2g.12gb.me, 4g.24gb",
            ),
            (
                "h100:mig=1g.10gb*8",
                "h100-sxm5-80gb: 8 x 1g.10gb exceeds the maximum of 7 on one GPU",
            ),
            (
                "h100:mig=1g.10gb*many",
                "invalid MIG profile `1g.10gb*many`: write a profile with a count, such as `1g.10gb*7`",
            ),
            (
                "h100:cut",
                "invalid MIG layout `cut`: write `mig=1g.10gb*7` or `mig`",
            ),
        ] {
            assert_eq!(parse_error(words), message);
        }
        assert!(parse_error("").contains("gb300-279gb"));
        assert!(parse_error("l4+").contains("v100-sxm2-32gb"));
        assert!(parse_error("Ä100x8").contains("a10-24gb"));
    }
}
