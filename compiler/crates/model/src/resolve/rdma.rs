//! The resource that a node advertises if the Network Operator shares its network devices.

use gpuc_syntax::node::Origin;

use crate::{AdvertisedResource, PoolSpec, RDMA_REPLICAS, RDMA_RESOURCE};

/// The network devices, shared by as many pods as the plugin allows.
pub(super) fn shared_nic_resource(pool: &PoolSpec) -> Option<AdvertisedResource> {
    let rdma = pool.settings.network.rdma.as_ref()?;
    Some(AdvertisedResource {
        name: RDMA_RESOURCE.to_owned(),
        per_node: RDMA_REPLICAS,
        origin: Origin::rule(
            [rdma.span],
            "pods share the network devices of a node, and each pod gets all of them",
        ),
    })
}
