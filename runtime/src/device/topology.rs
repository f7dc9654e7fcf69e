//! The links between the GPUs of a node, read once.

use std::collections::BTreeMap;

use crate::nvml::{CommonAncestor, Link};

/// The links between the GPUs of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// By the indexes of two GPUs, the smaller first. Pairs whose query failed are missing.
    links: BTreeMap<(u32, u32), Link>,
}

impl Topology {
    /// Creates a topology with these links.
    pub fn new(links: impl IntoIterator<Item = ((u32, u32), Link)>) -> Self {
        let ordered =
            |((one, other), link): ((u32, u32), Link)| ((one.min(other), one.max(other)), link);
        Self {
            links: links.into_iter().map(ordered).collect(),
        }
    }

    /// Returns the link between two GPUs; the weakest possible one if it is unknown.
    pub fn link(&self, one: u32, other: u32) -> Link {
        let pair = (one.min(other), one.max(other));
        self.links.get(&pair).copied().unwrap_or_default()
    }

    /// Whether the link between the two is known.
    pub fn has_link(&self, one: u32, other: u32) -> bool {
        self.links.contains_key(&(one.min(other), one.max(other)))
    }
}

impl Link {
    /// The proximity of the two: 10 to 60 for the common PCI ancestor, and 100 for each NVLink, as in NVIDIA's plugin
    /// (NVIDIA/go-gpuallocator `gpuallocator/besteffort_policy.go`); links through switches count here as well.
    pub fn score(self) -> u64 {
        let meet = match self.meet {
            CommonAncestor::System => 10,
            CommonAncestor::Processor => 20,
            CommonAncestor::HostBridge => 30,
            CommonAncestor::Switches => 40,
            CommonAncestor::Switch => 50,
            CommonAncestor::Board => 60,
        };
        meet + 100 * u64::from(self.nvlinks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_symmetric() {
        let link = Link {
            meet: CommonAncestor::Switch,
            nvlinks: 2,
        };
        let topology = Topology::new([((5, 2), link)]);
        assert_eq!((topology.link(2, 5), topology.link(5, 2)), (link, link));
        assert!(topology.has_link(5, 2) && !topology.has_link(2, 3));
        assert_eq!(topology.link(2, 3), Link::default());
    }

    #[test]
    fn nvlink_outranks_every_pci_path() {
        let score = |meet, nvlinks| Link { meet, nvlinks }.score();
        assert_eq!(score(CommonAncestor::System, 0), 10);
        assert_eq!(score(CommonAncestor::Board, 0), 60);
        assert!(score(CommonAncestor::System, 1) > score(CommonAncestor::Board, 0));
        assert_eq!(score(CommonAncestor::Processor, 18), 1_820);
    }
}
