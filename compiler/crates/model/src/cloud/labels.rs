//! Labels that clouds set on nodes automatically.

use super::types::CloudLabel;
use crate::{Cluster, MachineType, Pool};

impl Cluster {
    /// The prefixes of labels that a pool's nodes do not have: those of all other clouds if this cloud creates the
    /// nodes, and those that the cloud excludes. On-premises hosts and existing pools may have any labels of others.
    pub(crate) fn absent_label_prefixes(
        &self,
        pool: &Pool,
    ) -> impl Iterator<Item = &'static str> + use<> {
        let is_created =
            !pool.is_existing() && !matches!(pool.machine.get(), None | Some(MachineType::Host));
        let own_key = self.cloud.facts().key;
        let clouds = self.registry.clouds.iter().filter(move |_| is_created);
        clouds
            .map(|cloud| cloud.facts())
            .filter(move |facts| facts.key != own_key)
            .flat_map(|facts| facts.label_prefixes)
            .chain(self.cloud.absent_label_prefixes(self, pool))
            .copied()
    }
}

/// The topology labels that a cloud controller manager sets. If `zones` is empty, the zones begin with the region:
/// every cloud names its zones after their region. `others` are the values of nodes without a zone.
///
/// Source: <https://kubernetes.io/docs/reference/labels-annotations-taints/>, read 2026-11-21.
pub fn topology_labels(
    zones: impl IntoIterator<Item = String>,
    region: String,
    others: &[&str],
) -> Vec<CloudLabel> {
    const ZONE: &str = "topology.kubernetes.io/zone";
    let zones: Vec<String> = zones.into_iter().collect();
    let zone = if zones.is_empty() {
        let others = others.iter().map(|other| (*other).to_owned());
        CloudLabel::with_prefixes(ZONE, [region.clone()].into_iter().chain(others).collect())
    } else {
        CloudLabel {
            values: zones,
            ..CloudLabel::absent(ZONE)
        }
    };
    vec![
        zone,
        CloudLabel::certain("topology.kubernetes.io/region", region),
    ]
}
