//! The resource that a node advertises if the Network Operator shares its network devices.

use gpuc_syntax::node::Origin;

use crate::{Offer, PoolSpec, RDMA_RESOURCE, RDMA_SHARES};

/// The network devices, shared by as many pods as the plugin allows.
pub(super) fn offer(pool: &PoolSpec) -> Option<Offer> {
    let rdma = pool.settings.network.rdma.as_ref()?;
    Some(Offer {
        resource: RDMA_RESOURCE.to_owned(),
        per_node: RDMA_SHARES,
        origin: Origin::rule(
            [rdma.span],
            "pods share the network devices of a node, and each pod gets all of them",
        ),
    })
}
