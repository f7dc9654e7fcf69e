//! How a card divides into MIG instances: its slices, its profiles, and where each may lie.

use super::Basis;

/// What a card offers in MIG mode.
#[derive(Debug)]
pub struct Mig {
    /// Compute slices on the card.
    pub compute_slices: u8,
    /// Positions on the memory axis: 8 on cards with 7 compute slices, 4 on the A30, 12 on the RTX PRO 6000.
    pub memory_slices: u8,
    /// Video decoders that all instances share out, where that can refuse a layout the slices allow.
    ///
    /// `None` where the engines follow the slices (Hopper) or never run out first (A100, A30).
    pub decoders: Option<u8>,
    /// The profiles, smallest first.
    pub profiles: &'static [MigProfile],
    /// How well the table is known.
    pub basis: MigBasis,
}

/// One size of MIG instance on one card: a name alone does not say how many fit (`1g.10gb` is 4 on an A100 with 40 GB
/// and 7 on one with 80 GB).
#[derive(Debug)]
pub struct MigProfile {
    /// NVIDIA's name: `1g.5gb+me`.
    pub name: &'static str,
    /// The id that `nvidia-smi mig -lgip` prints and `-cgi` takes; not the same as `nvml_profile`.
    pub smi_id: u32,
    /// The value of NVML's constant `GPU_INSTANCE_PROFILE_…`, the index that NVML's queries take.
    pub nvml_profile: u32,
    /// Compute slices an instance takes.
    pub compute_slices: u8,
    /// Memory slices an instance takes: its length on the memory axis.
    pub memory_slices: u8,
    /// Memory of an instance in MiB. It moves a little with the driver's version: good for display and coarse sums.
    pub memory_mib: u32,
    /// How many of them fit on an otherwise empty card.
    pub max_instances: u32,
    /// The memory slices an instance may start at.
    pub starts: &'static [u8],
    /// Whether it takes the card's media extensions (`+me`, `+me.all`), of which there is one set.
    pub media_extensions: bool,
    /// What it takes out of [`Mig::decoders`]; 0 where there is no such limit.
    pub decoders: u8,
}

/// How well a table is known, column by column; where rows differ, the weakest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigBasis {
    /// [`MigProfile::smi_id`] and [`MigProfile::nvml_profile`].
    pub ids: Basis,
    /// [`MigProfile::starts`].
    pub placements: Basis,
    /// [`MigProfile::memory_mib`].
    pub memory: Basis,
    /// [`MigProfile::max_instances`].
    pub counts: Basis,
}

impl Mig {
    /// The profile of this name.
    pub fn profile(&self, name: &str) -> Option<&'static MigProfile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The names of all profiles, smallest first.
    pub fn profile_names(&self) -> impl Iterator<Item = &'static str> {
        self.profiles.iter().map(|profile| profile.name)
    }
}

impl MigProfile {
    /// The resource that NVIDIA's device plugin offers such instances as, without the domain: `mig-1g.5gb.me`.
    ///
    /// A resource name has no `+`, so the plugin writes `.`; the `-` of `1g.24gb-me` stays
    /// (NVIDIA/k8s-device-plugin, strategy `mixed`).
    pub fn resource_name(&self) -> String {
        format!("mig-{}", self.name.replace('+', "."))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MODELS, mig_tables};

    #[test]
    fn resource_names_follow_the_device_plugin() {
        let card = &mig_tables::RTX_PRO_6000;
        let resource = |name| card.profile(name).expect("a profile").resource_name();
        assert_eq!(resource("1g.24gb"), "mig-1g.24gb");
        assert_eq!(resource("1g.24gb+me"), "mig-1g.24gb.me");
        assert_eq!(resource("2g.48gb+me.all"), "mig-2g.48gb.me.all");
        assert_eq!(resource("1g.24gb-me"), "mig-1g.24gb-me");
    }

    #[test]
    fn every_placement_lies_on_the_card() {
        for model in MODELS {
            let Some(mig) = model.mig else { continue };
            for profile in mig.profiles {
                assert!(!profile.starts.is_empty());
                assert!(profile.compute_slices <= mig.compute_slices);
                for start in profile.starts {
                    let end = start + profile.memory_slices;
                    assert!(end <= mig.memory_slices, "{} {}", model.key, profile.name);
                }
            }
        }
    }

    #[test]
    fn a_name_alone_does_not_give_the_count() {
        let count = |mig: &super::Mig, name| mig.profile(name).map(|profile| profile.max_instances);
        assert_eq!(count(&mig_tables::A100_40GB, "1g.10gb"), Some(4));
        assert_eq!(count(&mig_tables::A100_80GB, "1g.10gb"), Some(7));
        assert_eq!(count(&mig_tables::H100_80GB, "1g.10gb"), Some(7));
        assert_eq!(count(&mig_tables::H200_141GB, "1g.35gb"), Some(4));
        assert_eq!(count(&mig_tables::GB300_279GB, "1g.35gb"), Some(7));
    }

    #[test]
    fn only_plus_me_takes_the_media_extensions() {
        for model in MODELS {
            for profile in model.mig.into_iter().flat_map(|mig| mig.profiles) {
                assert_eq!(
                    profile.media_extensions,
                    profile.name.contains("+me"),
                    "{}",
                    profile.name
                );
                assert!(!profile.media_extensions || profile.max_instances == 1);
            }
        }
    }
}
