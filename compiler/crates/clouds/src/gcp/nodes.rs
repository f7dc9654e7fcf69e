//! Number of nodes of a pool in GKE's terms: limits over all zones, size per zone.

use serde_json::{Value, json};

use gpuc_model::NodeRange;

/// Number of zones of a regional cluster if none are set.
const DEFAULT_ZONE_COUNT: u32 = 3;

/// Size of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolSize {
    /// A fixed number of nodes in each zone.
    Fixed {
        /// Nodes in each zone.
        per_zone: u32,
    },
    /// A range that GKE's autoscaler manages.
    Autoscaled {
        /// Number of nodes in each zone at the creation.
        initial_per_zone: u32,
        /// Minimum number of nodes, over all zones.
        min: u32,
        /// Maximum number of nodes, over all zones.
        max: u32,
    },
}

/// Size of a pool in the given number of zones; 0 if the cluster determines the zones.
pub(super) fn pool_size(nodes: &NodeRange, zones: usize) -> PoolSize {
    let zones = u32::try_from(zones).expect("a region has a handful of zones");
    if nodes.is_fixed() {
        // The rule `gke-node-count-uneven` rejects a number that is not a multiple of the number of zones.
        let per_zone = nodes.min / zones.max(1);
        return PoolSize::Fixed { per_zone };
    }
    let zones = if zones == 0 {
        DEFAULT_ZONE_COUNT
    } else {
        zones
    };
    // The rule `gke-initial-nodes-uneven` rejects an `initial` that is not a multiple of the number of zones.
    let initial = nodes.initial().value;
    let even = initial.div_ceil(zones);
    let fits = even * zones <= nodes.max;
    PoolSize::Autoscaled {
        initial_per_zone: if fits { even } else { initial / zones },
        min: nodes.min,
        max: nodes.max,
    }
}

impl PoolSize {
    /// Flags that create a pool of this size.
    pub(super) fn create_flags(self) -> Vec<String> {
        match self {
            Self::Fixed { per_zone } => vec![format!("--num-nodes={per_zone}")],
            Self::Autoscaled {
                initial_per_zone: first,
                ..
            } => {
                let mut flags = vec![format!("--num-nodes={first}")];
                flags.extend(self.autoscaling_flags());
                flags
            }
        }
    }

    /// Flags that enable GKE's autoscaler with these limits, or disable it.
    pub(super) fn autoscaling_flags(self) -> Vec<String> {
        match self {
            Self::Fixed { .. } => vec!["--no-enable-autoscaling".to_owned()],
            Self::Autoscaled { min, max, .. } => vec![
                "--enable-autoscaling".to_owned(),
                format!("--total-min-nodes={min}"),
                format!("--total-max-nodes={max}"),
            ],
        }
    }

    /// The limits of the autoscaler, in the format of the field's `read` program.
    pub(super) fn autoscaling_limits(self) -> Value {
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
    fn nodes_are_per_zone_and_limits_are_total() {
        let nodes = |min, max| NodeRange {
            min,
            max,
            initial: None,
            min_span: Span::NONE,
            max_span: Span::NONE,
        };
        let first = |min, max, zones| match pool_size(&nodes(min, max), zones) {
            PoolSize::Autoscaled {
                initial_per_zone: first,
                ..
            } => first,
            PoolSize::Fixed { per_zone } => per_zone,
        };
        assert_eq!(first(4, 4, 2), 2);
        assert_eq!(first(0, 8, 1), 0);
        assert_eq!(first(3, 8, 2), 2);
        assert_eq!(first(1, 9, 0), 1);
        // One node in each of three zones would exceed the maximum.
        assert_eq!(first(1, 2, 3), 0);
    }
}
