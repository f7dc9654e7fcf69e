//! What a node offers to pods where the Network Operator shares its network cards.

use crate::model::{Offer, Pool, RDMA_RESOURCE, RDMA_SHARES};
use crate::node::Origin;

/// The cards, shared by as many pods as the plugin lets.
pub(super) fn offer(pool: &Pool) -> Option<Offer> {
    let rdma = pool.written.network.rdma.as_ref()?;
    Some(Offer {
        resource: RDMA_RESOURCE.to_owned(),
        per_node: RDMA_SHARES,
        origin: Origin::rule(
            [rdma.span],
            "pods share the network cards of a node, each with all of them",
        ),
    })
}
