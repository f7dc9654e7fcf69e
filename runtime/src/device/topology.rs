//! The links between the GPUs of a node, read once.

use std::collections::BTreeMap;

use crate::nvml::{Link, Meet};

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
    pub fn knows(&self, one: u32, other: u32) -> bool {
        self.links.contains_key(&(one.min(other), one.max(other)))
    }
}

impl Link {
    /// The proximity of the two: 10 to 60 for the common PCI ancestor, and 100 for each NVLink, as in NVIDIA's plugin
    /// (NVIDIA/go-gpuallocator `gpuallocator/besteffort_policy.go`); links through switches count here as well.
    pub fn score(self) -> u64 {
        let meet = match self.meet {
            Meet::System => 10,
            Meet::Processor => 20,
            Meet::HostBridge => 30,
            Meet::Switches => 40,
            Meet::Switch => 50,
            Meet::Board => 60,
        };
        meet + 100 * u64::from(self.nvlinks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_a_pair_in_both_orders() {
        let link = Link {
            meet: Meet::Switch,
            nvlinks: 2,
        };
        let topology = Topology::new([((5, 2), link)]);
        assert_eq!((topology.link(2, 5), topology.link(5, 2)), (link, link));
        assert!(topology.knows(5, 2) && !topology.knows(2, 3));
        assert_eq!(topology.link(2, 3), Link::default());
    }

    #[test]
    fn one_nvlink_is_nearer_than_any_path_without() {
        let score = |meet, nvlinks| Link { meet, nvlinks }.score();
        assert_eq!(score(Meet::System, 0), 10);
        assert_eq!(score(Meet::Board, 0), 60);
        assert!(score(Meet::System, 1) > score(Meet::Board, 0));
        assert_eq!(score(Meet::Processor, 18), 1_820);
    }
}
