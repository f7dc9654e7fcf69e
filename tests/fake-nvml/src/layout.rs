//! The MIG layout of a GPU: GPU instances with their placements, and their compute instances.

use std::fmt::Write;

use gpuc_schema::gpu::MigProfile;

use crate::state::Gpu;

/// A GPU instance.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) id: u32,
    pub(crate) profile: &'static MigProfile,
    pub(crate) start: u32,
    /// The ID and the compute slices of each compute instance.
    pub(crate) compute: Vec<(u32, u32)>,
}

impl Instance {
    pub(crate) fn slices(&self) -> u32 {
        self.profile.compute_slices.into()
    }

    fn end(&self) -> u32 {
        self.start + u32::from(self.profile.memory_slices)
    }
}

/// Returns the current and pending MIG mode; `None` for GPU models without MIG.
pub(crate) fn mig_mode(gpu: Gpu<'_>) -> Option<(bool, bool)> {
    let word = gpu.text("mig");
    if word == Some("none") || (word.is_none() && gpu.model().is_none_or(|it| it.mig.is_none())) {
        return None;
    }
    let on = word == Some("on");
    Some((on, gpu.text("mig_pending").map_or(on, |word| word == "on")))
}

/// Returns the profiles of the GPU model, smallest first.
pub(crate) fn profiles(gpu: Gpu<'_>) -> &'static [MigProfile] {
    let mig = gpu.model().and_then(|model| model.mig);
    mig.map_or(&[], |mig| mig.profiles)
}

/// Returns the instances in the state file, or none while MIG mode is off.
///
/// # Panics
///
/// An entry is invalid.
pub(crate) fn instances(gpu: Gpu<'_>) -> Vec<Instance> {
    if mig_mode(gpu).is_none_or(|(on, _)| !on) {
        return Vec::new();
    }
    let mut found: Vec<Instance> = Vec::new();
    for word in gpu.text("layout").unwrap_or("").split_whitespace() {
        let instance = instance(gpu, &found, word);
        found.push(
            instance.unwrap_or_else(|| panic!("`{word}` is not an instance of GPU {}", gpu.index)),
        );
    }
    found
}

fn instance(gpu: Gpu<'_>, before: &[Instance], word: &str) -> Option<Instance> {
    let (id, rest) = match word.split_once(':') {
        Some((id, rest)) => (Some(id.parse().ok()?), rest),
        None => (None, word),
    };
    let (rest, compute) = match rest.split_once('/') {
        Some((rest, compute)) => (rest, Some(compute)),
        None => (rest, None),
    };
    let (name, start) = rest.split_once('@')?;
    let profile = profiles(gpu).iter().find(|profile| profile.name == name)?;
    let pair = |text: &str| {
        let (ci, slices) = text.split_once('=')?;
        Some((ci.parse().ok()?, slices.parse().ok()?))
    };
    Some(Instance {
        id: id.unwrap_or_else(|| free_id(before, profile)),
        profile,
        start: start.parse().ok()?,
        compute: match compute {
            None => vec![(0, profile.compute_slices.into())],
            Some(list) => list.split(',').filter_map(pair).collect(),
        },
    })
}

/// Stores the instances as changes.
pub(crate) fn store_layout(gpu: Gpu<'_>, instances: &[Instance]) {
    let mut text = String::new();
    for it in instances {
        let compute: Vec<_> = it
            .compute
            .iter()
            .map(|(ci, n)| format!("{ci}={n}"))
            .collect();
        let compute = compute.join(",");
        write!(
            text,
            "{}:{}@{}/{compute} ",
            it.id, it.profile.name, it.start
        )
        .expect("a write to a string does not fail");
    }
    gpu.change("layout", text.trim());
}

/// Returns whether a new instance is possible: the profile has this placement, no other instance overlaps it, and
/// enough compute slices and media extensions are unallocated.
pub(crate) fn can_place(gpu: Gpu<'_>, others: &[Instance], new: &Instance) -> bool {
    let Some(mig) = gpu.model().and_then(|model| model.mig) else {
        return false;
    };
    let used: u32 = others.iter().map(Instance::slices).sum();
    let media = |it: &Instance| it.profile.media_extensions;
    new.profile
        .starts
        .iter()
        .any(|start| u32::from(*start) == new.start)
        && others
            .iter()
            .all(|it| it.end() <= new.start || new.end() <= it.start)
        && used + new.slices() <= u32::from(mig.compute_slices)
        && !(media(new) && others.iter().any(media))
}

/// Returns an unused ID. Like NVIDIA's driver, it uses small numbers for large instances.
pub(crate) fn free_id(taken: &[Instance], profile: &MigProfile) -> u32 {
    let first = match profile.compute_slices {
        1 => 7,
        2 => 3,
        3 | 4 => 1,
        _ => 0,
    };
    (first..first + 64)
        .find(|id| taken.iter().all(|it| it.id != *id))
        .expect("a GPU has fewer than 64 instances")
}
