//! How the GPUs of a node are joined: read once, then only looked at.

use std::collections::BTreeMap;

use crate::nvml::Link;

/// The links between the GPUs of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// By the indexes of two GPUs, the smaller first. A pair that could not be asked about is not there.
    links: BTreeMap<(u32, u32), Link>,
}

impl Topology {
    /// The topology with these links.
    pub fn new(links: impl IntoIterator<Item = ((u32, u32), Link)>) -> Self {
        let ordered =
            |((one, other), link): ((u32, u32), Link)| ((one.min(other), one.max(other)), link);
        Self {
            links: links.into_iter().map(ordered).collect(),
        }
    }

    /// How two GPUs are joined; in the loosest way where nobody knows.
    pub fn link(&self, one: u32, other: u32) -> Link {
        let pair = (one.min(other), one.max(other));
        self.links.get(&pair).copied().unwrap_or_default()
    }
}
