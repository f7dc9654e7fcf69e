//! What the cluster is told: its networks, one for each that pools name, and what makes a pool's nodes ready.

use std::collections::BTreeMap;

use gpuc_schema::config::GpudirectInterface;
use gpuc_schema::{Span, Spanned};
use serde_json::json;

use super::{COMPONENT, node, pools};
use crate::check::Checked;
use crate::node::Origin;
use crate::plan::Object;

/// Everything below the component.
pub(in super::super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let mut objects = networks(cluster);
    for (pool, written, protocol) in pools(&cluster) {
        objects.extend(node::daemon_sets(pool, written, protocol));
    }
    objects
}

/// A network is known once, however many pools are in it: GKE refuses a second `GKENetworkParamSet` of a VPC or a
/// subnetwork that has one.
///
/// Source: `GKENetworkParamSetConditionReason` (`DeviceModeVPCAlreadyInUse`, `DeviceModeSubnetAlreadyInUse`) and
/// `crd/config/crds/networking.gke.io_{networks,gkenetworkparamsets}.yaml` of kubernetes/cloud-provider-gcp@0494afac.
fn networks(cluster: Checked<'_>) -> Vec<Object> {
    let mut named: BTreeMap<&str, (&str, Vec<Span>)> = BTreeMap::new();
    let interfaces = pools(&cluster).flat_map(|(_, written, _)| &written.interfaces);
    for Spanned { value, span } in interfaces {
        let GpudirectInterface {
            network,
            subnetwork,
        } = value;
        let entry = named.entry(subnetwork.as_str());
        let (_, spans) = entry.or_insert((network.as_str(), Vec::new()));
        spans.push(*span);
    }
    let objects = named
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
            let known = json!({
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
            let why = "pods name a network of the cluster, and it the network of the interface";
            let origin = Origin::rule(spans, why);
            [parameters, known].map(|object| Object::new(COMPONENT, &object, origin.clone()))
        });
    objects.collect()
}
