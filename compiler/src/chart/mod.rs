//! Helm charts: one file each, and what every one of them says of itself.

use crate::check::Checked;
use crate::node::Node;

/// A Helm chart at the version gpuc writes values for.
#[derive(Debug)]
pub struct Chart {
    /// The chart's name.
    pub name: &'static str,
    /// The repository's URL.
    pub repository: &'static str,
    /// The pinned version, as the repository spells it.
    pub version: &'static str,
    /// The namespace of its release.
    pub namespace: &'static str,
    /// Images that it runs at that version, with their tags.
    pub images: &'static [&'static str],
    /// Whether a cluster needs it.
    pub wanted: fn(&Checked<'_>) -> bool,
    /// The values for a cluster.
    pub values: fn(&Checked<'_>) -> Node,
    /// Where this stands.
    pub source: &'static str,
}

/// Every chart, by name.
pub static CHARTS: &[&Chart] = &[];
