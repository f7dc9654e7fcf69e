//! MIG capabilities of a GPU model: slices, profiles, and possible placements.

use super::Basis;

/// The MIG capabilities of a GPU model.
#[derive(Debug)]
pub struct Mig {
    /// Compute slices of the GPU.
    pub compute_slices: u8,
    /// Memory slices: 8 on GPUs with 7 compute slices, 4 on the A30, 12 on the RTX PRO 6000.
    pub memory_slices: u8,
    /// Video decoders, if their number can make a geometry invalid that the slices allow. `None` if the engines are
    /// proportional to the slices (Hopper) or never the limit (A100, A30).
    pub decoders: Option<u8>,
    /// The profiles, smallest first.
    pub profiles: &'static [MigProfile],
    /// The basis of the table.
    pub basis: MigBasis,
}

/// A MIG profile of one GPU model. The name alone does not determine how many instances fit (`1g.10gb` is 4 on an A100
/// with 40 GB and 7 on one with 80 GB).
#[derive(Debug)]
pub struct MigProfile {
    /// NVIDIA's name: `1g.5gb+me`.
    pub name: &'static str,
    /// The id that `nvidia-smi mig -lgip` prints and `-cgi` takes; not the same as `nvml_profile`.
    pub smi_id: u32,
    /// The value of NVML's constant `GPU_INSTANCE_PROFILE_…`, the index in NVML's queries.
    pub nvml_profile: u32,
    /// Compute slices of an instance.
    pub compute_slices: u8,
    /// Memory slices of an instance.
    pub memory_slices: u8,
    /// Memory of an instance in MiB. It varies slightly with the driver version: use it only for display and estimates.
    pub memory_mib: u32,
    /// The maximum number of instances on an otherwise empty GPU.
    pub max_instances: u32,
    /// The memory slices at which an instance can start.
    pub starts: &'static [u8],
    /// Whether an instance uses the GPU's only set of media extensions (`+me`, `+me.all`).
    pub media_extensions: bool,
    /// The number of [`Mig::decoders`] of an instance; 0 if there is no such limit.
    pub decoders: u8,
}

/// The basis of each column of a table; if rows differ, the weakest basis.
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
    /// The resource name of such instances in the NVIDIA device plugin, without the domain: `mig-1g.5gb.me`. A resource
    /// name cannot contain `+`, so the plugin writes `.`; the `-` of `1g.24gb-me` is kept (NVIDIA/k8s-device-plugin,
    /// strategy `mixed`).
    pub fn resource_name(&self) -> String {
        format!("mig-{}", self.name.replace('+', "."))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MODELS, mig_tables};

    #[test]
    fn resource_names_follow_the_device_plugin() {
        let mig = &mig_tables::RTX_PRO_6000;
        let resource = |name| mig.profile(name).expect("a profile").resource_name();
        assert_eq!(resource("1g.24gb"), "mig-1g.24gb");
        assert_eq!(resource("1g.24gb+me"), "mig-1g.24gb.me");
        assert_eq!(resource("2g.48gb+me.all"), "mig-2g.48gb.me.all");
        assert_eq!(resource("1g.24gb-me"), "mig-1g.24gb-me");
    }

    #[test]
    fn placements_are_within_the_gpu() {
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
    fn instance_count_depends_on_the_model() {
        let count = |mig: &super::Mig, name| mig.profile(name).map(|profile| profile.max_instances);
        assert_eq!(count(&mig_tables::A100_40GB, "1g.10gb"), Some(4));
        assert_eq!(count(&mig_tables::A100_80GB, "1g.10gb"), Some(7));
        assert_eq!(count(&mig_tables::H100_80GB, "1g.10gb"), Some(7));
        assert_eq!(count(&mig_tables::H200_141GB, "1g.35gb"), Some(4));
        assert_eq!(count(&mig_tables::GB300_279GB, "1g.35gb"), Some(7));
    }

    #[test]
    fn only_plus_me_has_media_extensions() {
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
