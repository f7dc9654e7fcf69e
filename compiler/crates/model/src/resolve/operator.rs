//! The node labels of the GPU Operator. Requires all pools, because they determine whether the operator is installed.

use crate::cloud::Cloud;
use crate::{Operands, Pool, operator};

/// Adds the labels that restrict the operands to their pools. gpuc does not label the nodes of existing pools. A rule
/// checks the labels that the user wrote.
pub(super) fn add_labels(cloud: &dyn Cloud, pools: &mut [Pool]) {
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
