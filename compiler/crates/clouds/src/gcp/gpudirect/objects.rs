//! Objects of the cluster for GPUDirect: a network for each one that pools name, and the DaemonSets of each pool.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::Span;
use gpuc_schema::config::GpudirectInterface;
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::{COMPONENT, Technology, gpudirect_pools, node, pool_interfaces};

/// All objects of the component.
pub(in super::super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let mut objects = network_objects(cluster);
    for (pool, written, technology) in gpudirect_pools(&cluster) {
        objects.extend(node::daemon_sets(pool, written, technology));
    }
    objects
}

/// Objects for each network, once even if several pools use it: GKE refuses a second `GKENetworkParamSet` for a VPC
/// network or subnetwork.
///
/// Source: `GKENetworkParamSetConditionReason` (`DeviceModeVPCAlreadyInUse`, `DeviceModeSubnetAlreadyInUse`) and
/// `crd/config/crds/networking.gke.io_{networks,gkenetworkparamsets}.yaml` of kubernetes/cloud-provider-gcp@0494afac.
fn network_objects(cluster: Checked<'_>) -> Vec<Object> {
    let mut networks_by_subnetwork: BTreeMap<&str, (&str, &str, Vec<Span>)> = BTreeMap::new();
    let interfaces: Vec<_> = gpudirect_pools(&cluster)
        .flat_map(|(pool, _, technology)| {
            let interfaces = pool_interfaces(&cluster, pool).into_iter().enumerate();
            interfaces.map(move |(index, interface)| (device_mode(technology, index), interface))
        })
        .collect();
    for (mode, interface) in &interfaces {
        let GpudirectInterface {
            network,
            subnetwork,
        } = interface;
        let entry = networks_by_subnetwork.entry(subnetwork.as_str());
        let (_, _, spans) = entry.or_insert((network.as_str(), *mode, Vec::new()));
        spans.push(subnetwork.span);
    }
    let objects = networks_by_subnetwork.into_iter().flat_map(
        |(subnetwork, (network, mode, spans))| {
            let metadata = json!({
                "name": subnetwork,
                "labels": {"app.kubernetes.io/managed-by": "gpuc"},
            });
            let parameters = json!({
                "apiVersion": "networking.gke.io/v1",
                "kind": "GKENetworkParamSet",
                "metadata": metadata,
                "spec": {"vpc": network, "vpcSubnet": subnetwork, "deviceMode": mode},
            });
            let network_object = json!({
                "apiVersion": "networking.gke.io/v1",
                "kind": "Network",
                "metadata": metadata,
                "spec": {
                    "type": "Device",
                    "parametersRef": {
                        "group": "networking.gke.io",
                        "kind": "GKENetworkParamSet",
                        "name": subnetwork,
                    },
                },
            });
            let reason =
                "pods refer to a Network object, which refers to the VPC network of the interface";
            let origin = Origin::rule(spans, reason);
            [parameters, network_object]
                .map(|object| Object::new(COMPONENT, &object, origin.clone()))
        },
    );
    objects.collect()
}

/// How pods get an interface. The first one of machines with RDMA is that of the host.
const fn device_mode(technology: Technology, index: usize) -> &'static str {
    match technology {
        Technology::Rdma(_) if index > 0 => "RDMA",
        Technology::Rdma(_) | Technology::Tcp(_) => "NetDevice",
    }
}
