//! Objects of the cluster for GPUDirect: a network for each one that pools name, and the DaemonSets of each pool.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::config::GpudirectInterface;
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::{COMPONENT, gpudirect_pools, node};

/// All objects of the component.
pub(in super::super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let mut objects = network_objects(cluster);
    for (pool, written, protocol) in gpudirect_pools(&cluster) {
        objects.extend(node::daemon_sets(pool, written, protocol));
    }
    objects
}

/// Objects for each network, once even if several pools use it: GKE refuses a second `GKENetworkParamSet` for a VPC
/// network or subnetwork.
///
/// Source: `GKENetworkParamSetConditionReason` (`DeviceModeVPCAlreadyInUse`, `DeviceModeSubnetAlreadyInUse`) and
/// `crd/config/crds/networking.gke.io_{networks,gkenetworkparamsets}.yaml` of kubernetes/cloud-provider-gcp@0494afac.
fn network_objects(cluster: Checked<'_>) -> Vec<Object> {
    let mut networks_by_subnetwork: BTreeMap<&str, (&str, Vec<Span>)> = BTreeMap::new();
    let interfaces = gpudirect_pools(&cluster).flat_map(|(_, written, _)| &written.interfaces);
    for Spanned { value, span } in interfaces {
        let GpudirectInterface {
            network,
            subnetwork,
        } = value;
        let entry = networks_by_subnetwork.entry(subnetwork.as_str());
        let (_, spans) = entry.or_insert((network.as_str(), Vec::new()));
        spans.push(*span);
    }
    let objects = networks_by_subnetwork
        .into_iter()
        .flat_map(|(subnetwork, (network, spans))| {
            let metadata = json!({
                "name": subnetwork,
                "labels": {"app.kubernetes.io/managed-by": "gpuc"},
            });
            let parameters = json!({
                "apiVersion": "networking.gke.io/v1",
                "kind": "GKENetworkParamSet",
                "metadata": metadata,
                "spec": {"vpc": network, "vpcSubnet": subnetwork, "deviceMode": "NetDevice"},
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
        });
    objects.collect()
}
