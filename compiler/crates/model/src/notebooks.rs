//! The resource requests of notebooks.

use gpuc_schema::config::{JupyterHub, NotebookProfile, Notebooks};

use super::{Cluster, Pool};

/// A request for devices of one extended resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedResourceRequest {
    /// The name of the resource: `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`.
    pub resource: String,
    /// The number.
    pub count: u32,
}

impl Cluster {
    /// The settings of `JupyterHub`, if the file contains them.
    pub fn jupyter_hub(&self) -> Option<&JupyterHub> {
        let notebooks = self.config.notebooks.as_ref()?;
        let Notebooks::JupyterHub(hub) = &notebooks.value;
        Some(hub)
    }
}

impl ExtendedResourceRequest {
    /// The request of a notebook profile, whether the pool advertises enough devices or not. `None` if the pool has no
    /// devices, or only MIG devices and the notebook profile has no MIG profile.
    pub fn for_notebook(profile: &NotebookProfile, pool: &Pool) -> Option<Self> {
        let advertised = pool.requestable_devices()?;
        let resource = if let Some(mig_profile) = &profile.profile {
            // The naming of device plugins, as in `schema/src/gpu/mig.rs`.
            format!("nvidia.com/mig-{}", mig_profile.replace('+', "."))
        } else {
            let mut advertised = advertised.iter();
            let gpu = advertised.find(|it| !it.name.contains("/mig-"));
            gpu?.name.clone()
        };
        let count = profile.gpus.map_or(1, |gpus| gpus.value);
        Some(Self { resource, count })
    }
}

/// The name of a profile in URLs: lower-case letters and digits, with `-` in place of other characters.
pub fn slug(name: &str) -> String {
    let words: Vec<_> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}
