//! How many nodes a pool has, in GKE's terms: the limits over all zones, the size per zone.

use serde_json::{Value, json};

use crate::model::NodeRange;

/// GKE puts a regional cluster into three zones when nobody names them.
const ZONES_OF_A_REGION: u32 = 3;

/// The size of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// So many nodes in each zone.
    Fixed {
        /// Nodes in each zone.
        per_zone: u32,
    },
    /// GKE's autoscaler decides.
    Autoscaled {
        /// Nodes in each zone at first.
        first: u32,
        /// The fewest nodes, over all zones.
        min: u32,
        /// The most nodes, over all zones.
        max: u32,
    },
}

/// The size of a pool in so many zones; 0 when the zones are left to the cluster.
pub(super) fn size(nodes: &NodeRange, zones: usize) -> Size {
    let zones = u32::try_from(zones).expect("a region has a handful of zones");
    if nodes.is_fixed() {
        // `gke-count-zones` refuses a number that does not go into the zones evenly.
        let per_zone = nodes.min / zones.max(1);
        return Size::Fixed { per_zone };
    }
    let zones = if zones == 0 { ZONES_OF_A_REGION } else { zones };
    let even = nodes.min.div_ceil(zones);
    let fits = even * zones <= nodes.max;
    Size::Autoscaled {
        first: if fits { even } else { nodes.min / zones },
        min: nodes.min,
        max: nodes.max,
    }
}

impl Size {
    /// The flags that create a pool of this size.
    pub(super) fn flags(self) -> Vec<String> {
        match self {
            Self::Fixed { per_zone } => vec![format!("--num-nodes={per_zone}")],
            Self::Autoscaled { first, .. } => {
                let mut flags = vec![format!("--num-nodes={first}")];
                flags.extend(self.limits());
                flags
            }
        }
    }

    /// The flags that switch GKE's autoscaler on with these limits, or off.
    pub(super) fn limits(self) -> Vec<String> {
        match self {
            Self::Fixed { .. } => vec!["--no-enable-autoscaling".to_owned()],
            Self::Autoscaled { min, max, .. } => vec![
                "--enable-autoscaling".to_owned(),
                format!("--total-min-nodes={min}"),
                format!("--total-max-nodes={max}"),
            ],
        }
    }

    /// The autoscaler's limits as the field's program reads them.
    pub(super) fn autoscaling(self) -> Value {
        match self {
            Self::Fixed { .. } => Value::Null,
            Self::Autoscaled { min, max, .. } => json!({"min": min, "max": max}),
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuc_schema::Span;

    use super::*;

    #[test]
    fn gcloud_counts_nodes_in_each_zone_and_limits_over_all() {
        let nodes = |min, max| NodeRange {
            min,
            max,
            min_span: Span::NONE,
            max_span: Span::NONE,
        };
        let first = |min, max, zones| match size(&nodes(min, max), zones) {
            Size::Autoscaled { first, .. } => first,
            Size::Fixed { per_zone } => per_zone,
        };
        assert_eq!(first(4, 4, 2), 2);
        assert_eq!(first(0, 8, 1), 0);
        assert_eq!(first(3, 8, 2), 2);
        assert_eq!(first(1, 9, 0), 1);
        // One node in each of three zones would be more than the most.
        assert_eq!(first(1, 2, 3), 0);
    }
}
