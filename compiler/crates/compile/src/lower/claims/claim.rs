//! ResourceClaims and their templates.

use gpuc_model::{DeviceClass, Pool, Sharing};
use serde_json::{Map, Value, json};

use super::API_VERSION;

/// The name of the single request in a claim.
const REQUEST: &str = "gpus";

/// A claim of `count` devices of a class.
///
/// With MPS, it is one ResourceClaim that all pods reference; otherwise a ResourceClaimTemplate, from which each pod
/// gets its own claim. Without a namespace, it is an example for the README.
pub(crate) fn resource_claim(
    name: &str,
    namespace: Option<&str>,
    pool: &Pool,
    class: &DeviceClass,
    count: u32,
) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    let spec = json!({"devices": {"requests": [{
        "name": REQUEST,
        "exactly": {
            "deviceClassName": class.name,
            "allocationMode": "ExactCount",
            "count": count,
        },
    }]}});
    let (kind, spec) = if has_shared_claim(pool) {
        ("ResourceClaim", spec)
    } else {
        ("ResourceClaimTemplate", json!({"spec": spec}))
    };
    json!({
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    })
}

/// The spec of a pod on a pool's nodes whose container uses the devices of such a claim.
pub(crate) fn claiming_pod(pool: &Pool, claim: &str) -> Value {
    let labels = pool.selector.iter();
    let selector: Map<String, Value> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let source = if has_shared_claim(pool) {
        "resourceClaimName"
    } else {
        "resourceClaimTemplateName"
    };
    let mut spec = json!({
        "nodeSelector": selector,
        "resourceClaims": [{"name": REQUEST, source: claim}],
        "containers": [{
            "name": "main",
            "image": "registry.example.com/your-image:1.0.0",
            "resources": {"claims": [{"name": REQUEST}]},
        }],
    });
    let tolerations = gpuc_model::derive::tolerations(pool);
    if !tolerations.is_empty() {
        spec["tolerations"] = json!(tolerations);
    }
    spec
}

/// Whether pods share one claim.
fn has_shared_claim(pool: &Pool) -> bool {
    matches!(pool.sharing.expect_resolved(), Sharing::Mps { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::with_checked_pool;

    /// The claim and the pod for the first class of a pool with these keys.
    fn claim_and_pod(pool: &str) -> (Value, Value) {
        with_checked_pool(pool, |cluster| {
            let pool = cluster.pool("gpu").expect("the test's pool");
            let class = &pool.classes[0];
            (
                resource_claim("two", Some("research"), pool, class, 2),
                crate::lower::claims::claim::tests::claiming_pod(pool, "two"),
            )
        })
    }

    #[test]
    fn each_pod_claims_for_itself() {
        let (claim, pod) = claim_and_pod("gpu: {model: L4, perNode: 2}, dedicatedTo: research");
        assert_eq!(claim["kind"], "ResourceClaimTemplate");
        assert_eq!(
            claim["metadata"],
            json!({"name": "two", "namespace": "research"})
        );
        let request = &claim["spec"]["spec"]["devices"]["requests"][0];
        let exactly =
            json!({"deviceClassName": "gpu.gpuc.dev", "allocationMode": "ExactCount", "count": 2});
        assert_eq!(request["exactly"], exactly);
        let source = json!([{"name": "gpus", "resourceClaimTemplateName": "two"}]);
        assert_eq!(pod["resourceClaims"], source);
        assert_eq!(pod["nodeSelector"], json!({"gpuc.dev/pool": "gpu"}));
        assert_eq!(pod["tolerations"][0]["value"], "research");
    }

    #[test]
    fn pods_that_share_name_one_claim() {
        let (claim, pod) =
            claim_and_pod("gpu: {model: L4, perNode: 2}, sharing: {mps: {replicas: 4}}");
        assert_eq!(claim["kind"], "ResourceClaim");
        assert_eq!(claim["spec"]["devices"]["requests"][0]["name"], "gpus");
        let source = json!([{"name": "gpus", "resourceClaimName": "two"}]);
        assert_eq!(pod["resourceClaims"], source);
    }
}
