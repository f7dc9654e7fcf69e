//! Requests for nodes: if a pool has nodes only on request, Kueue admits a job after the cloud has created them.

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Pool, Team};
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::{API_VERSION, COMPONENT, flavor};

/// Kueue's controller that creates ProvisioningRequests.
///
/// Source: kubernetes-sigs/kueue `apis/kueue/v1beta2/provisioningrequestconfig_types.go`
/// (`ProvisioningRequestControllerName`), 2026-11-28.
const CONTROLLER: &str = "kueue.x-k8s.io/provisioning-request";

/// The AdmissionCheck of a pool and its configuration, if nodes are created only on request.
///
/// Source of the values: GoogleCloudPlatform/cluster-toolkit, the Kueue configuration of DWS flex-start, 2026-11-28.
pub(super) fn objects(cluster: &Checked<'_>, pool: &Pool) -> Option<[Object; 2]> {
    let class = cluster.cloud.provisioning_class(pool)?;
    let name = flavor::flavor_name(pool);
    let parameters: Map<String, Value> = (class.parameters.into_iter())
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    let resources: Vec<&str> = (pool.advertised.expect_resolved().iter())
        .map(|resource| resource.name.as_str())
        .collect();
    let mut spec = json!({
        "provisioningClassName": class.name,
        "managedResources": resources,
        "podSetUpdates": {"nodeSelector": [{
            "key": class.node_label,
            "valueFromProvisioningClassDetail": class.label_detail,
        }]},
        // The pods of a workload that differ only in their commands are in one request.
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
    });
    if !parameters.is_empty() {
        spec["parameters"] = json!(parameters);
    }
    let metadata = json!({"name": name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}});
    let config = json!({
        "apiVersion": API_VERSION,
        "kind": "ProvisioningRequestConfig",
        "metadata": metadata,
        "spec": spec,
    });
    let check = json!({
        "apiVersion": API_VERSION,
        "kind": "AdmissionCheck",
        "metadata": metadata,
        "spec": {
            "controllerName": CONTROLLER,
            "parameters": {
                "apiGroup": "kueue.x-k8s.io",
                "kind": "ProvisioningRequestConfig",
                "name": name,
            },
        },
    });
    let inputs = [pool.name.span, pool.settings.capacity.span];
    let reason = "Kueue admits a job to this pool when the cloud has created all of its nodes";
    Some([config, check].map(|it| Object::new(COMPONENT, &it, Origin::rule(inputs, reason))))
}

/// The AdmissionChecks of a team's ClusterQueue: each applies to the flavor of its pool.
pub(super) fn checks_strategy(cluster: &Checked<'_>, team: &Team) -> Option<Value> {
    let mut pools: Vec<usize> = team.grants().map(|grant| grant.pool).collect();
    pools.sort_unstable();
    pools.dedup();
    let checks: Vec<Value> = (pools.into_iter())
        .map(|pool| &cluster.pools[pool])
        .filter(|pool| cluster.cloud.provisioning_class(pool).is_some())
        .map(flavor::flavor_name)
        .map(|name| json!({"name": name, "onFlavors": [name]}))
        .collect();
    (!checks.is_empty()).then(|| json!({"admissionChecks": checks}))
}
