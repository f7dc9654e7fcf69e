//! The labels of the GPU Operator, once it is known for every pool whether the operator is in the cluster at all.

use crate::cloud::Cloud;
use crate::model::{Operands, Pool, operator};

/// Adds the labels that keep the operator's parts to their pools. An existing pool's nodes have what they have, and a
/// label that the user wrote is a rule's to judge.
pub(super) fn label(cloud: &dyn Cloud, pools: &mut [Pool]) {
    if pools.iter().all(|pool| Operands::of(cloud, pool).is_none()) {
        return;
    }
    for pool in pools.iter_mut().filter(|pool| !pool.is_existing()) {
        let mut labels = operator::labels(cloud, pool);
        labels.retain(|new| pool.labels.iter().all(|label| label.key != new.key));
        pool.labels.extend(labels);
        pool.labels.sort_by(|a, b| a.key.cmp(&b.key));
    }
}
