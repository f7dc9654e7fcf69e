//! Helm charts: one file each, and what every one of them says of itself.

mod efa_device_plugin;
pub mod images;
pub mod keys;
mod nvidia_device_plugin;

use crate::check::Checked;
use crate::plan::Release;

pub use efa_device_plugin::EFA_DEVICE_PLUGIN;
pub use nvidia_device_plugin::NVIDIA_DEVICE_PLUGIN;

/// A Helm chart at the version gpuc writes values for.
#[derive(Debug)]
pub struct Chart {
    /// The chart's name.
    pub name: &'static str,
    /// The repository's URL.
    pub repository: &'static str,
    /// The pinned version, as the repository spells it.
    pub version: &'static str,
    /// Images that it runs at that version, with their tags.
    pub images: &'static [&'static str],
    /// The releases of it that a cluster needs, with their values.
    pub releases: fn(&Checked<'_>) -> Vec<Release>,
    /// Where this stands.
    pub source: &'static str,
}

/// Every chart, by name.
pub static CHARTS: &[&Chart] = &[&EFA_DEVICE_PLUGIN, &NVIDIA_DEVICE_PLUGIN];
