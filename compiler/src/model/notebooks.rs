//! What a notebook asks of the nodes of its pool.

use gpuc_schema::config::{JupyterHub, NotebookProfile, Notebooks};

use super::{Cluster, Pool};

/// What a notebook asks of a node's GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// The resource's name: `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`.
    pub resource: String,
    /// How many of it.
    pub count: u32,
}

impl Cluster {
    /// The notebooks by `JupyterHub`, where the file asks for them.
    pub fn jupyter_hub(&self) -> Option<&JupyterHub> {
        let notebooks = self.written.notebooks.as_ref()?;
        let Notebooks::JupyterHub(hub) = &notebooks.value;
        Some(hub)
    }
}

impl Devices {
    /// What a profile asks of its pool, whether the pool offers as many or not; `None` where there is nothing to ask
    /// for, or where the pool has only slices and the profile does not say which.
    pub fn of(profile: &NotebookProfile, pool: &Pool) -> Option<Self> {
        let offers = pool.offers.get()?;
        let resource = if let Some(slice) = &profile.profile {
            // As the plugins name slices, `schema/src/gpu/mig.rs`.
            format!("nvidia.com/mig-{}", slice.replace('+', "."))
        } else {
            let mut whole = offers.iter().filter(|it| !it.resource.contains("/mig-"));
            whole.next()?.resource.clone()
        };
        let count = profile.gpus.map_or(1, |gpus| gpus.value);
        Some(Self { resource, count })
    }
}

/// What a profile is called in URLs, by its name: lower-case letters and digits, with `-` for what is between them.
pub fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<_> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}
