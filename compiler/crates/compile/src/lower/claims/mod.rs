//! Dynamic Resource Allocation (DRA): a DeviceClass for each kind of device of a pool, with its sharing settings, and
//! ResourceClaims of these classes.
//!
//! A DeviceClass can only select by device attributes, not by node: the pods' node selectors distinguish two pools with
//! the same GPU model. A DeviceClass contains the GPU model, the MIG profile and the driver's settings, so
//! ResourceClaims need not repeat them.

mod claim;
mod notes;
mod selector;

use serde_json::{Value, json};

use gpuc_model::check::Checked;
use gpuc_model::derive::components::{DEVICE_CLASSES, DRA_DRIVER_NAMESPACE};
use gpuc_model::plan::Object;
use gpuc_model::{DeviceClass, DeviceKind, Pool, Sharing};
use gpuc_syntax::node::Origin;

pub(crate) use claim::{claiming_pod, resource_claim};
pub(crate) use notes::extended_resource_notes;
pub(crate) use selector::selectors;

/// The folder of the manifests.
pub(crate) const COMPONENT: &str = DEVICE_CLASSES;

/// The name of NVIDIA's driver in ResourceSlices and in claims.
pub(crate) const DRIVER: &str = "gpu.nvidia.com";

/// The namespace of NVIDIA's driver.
pub(crate) const NAMESPACE: &str = DRA_DRIVER_NAMESPACE;

/// The API version of ResourceClaims.
pub(crate) const API_VERSION: &str = "resource.k8s.io/v1";

/// The DeviceClasses of every pool.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let pools = cluster.dra_pools();
    pools
        .flat_map(|pool| {
            let classes = pool.classes.iter();
            classes.map(move |class| object(cluster, pool, class))
        })
        .collect()
}

fn object(cluster: &Checked<'_>, pool: &Pool, class: &DeviceClass) -> Object {
    let inputs = class.origin.inputs().iter().copied();
    let origin = Origin::rule(
        inputs.chain(gpuc_model::derive::origins::serving_spans(pool)),
        "a ResourceClaim names one DeviceClass, which selects the pool's GPU model and its sharing mode",
    );
    let resource = extended_resource(cluster, class);
    let mut object = Object::new(COMPONENT, &device_class(pool, class, resource), origin);
    if resource.is_some() {
        let origin = Origin::rule(
            [
                pool.extended_resources.span,
                pool.allocation.span,
                pool.sharing_span,
            ],
            "pods request the devices of this class under the name that a device plugin advertises",
        );
        (object.node).set_origin(&["spec", "extendedResourceName"], origin);
    }
    object
}

/// The extended resource of a class, unless another class of the same devices has its name.
pub(crate) fn extended_resource<'c>(
    cluster: &'c Checked<'_>,
    class: &'c DeviceClass,
) -> Option<&'c str> {
    let name = class.extended_resource.as_deref()?;
    let (_, owner) = cluster.class_of_resource(name)?;
    (owner.name == class.name).then_some(name)
}

fn device_class(pool: &Pool, class: &DeviceClass, extended_resource: Option<&str>) -> Value {
    let expressions = selectors(pool, class).into_iter();
    let selectors: Vec<_> = expressions
        .map(|expression| json!({"cel": {"expression": expression}}))
        .collect();
    let mut spec = json!({"selectors": selectors});
    if let Some(parameters) = driver_parameters(pool, class) {
        let opaque = json!({"driver": DRIVER, "parameters": parameters});
        spec["config"] = json!([{"opaque": opaque}]);
    }
    if let Some(name) = extended_resource {
        spec["extendedResourceName"] = json!(name);
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "DeviceClass",
        "metadata": {
            "name": class.name,
            "labels": {
                "app.kubernetes.io/managed-by": "gpuc",
                "gpuc.dev/pool": pool.name.value,
            },
        },
        "spec": spec,
    })
}

/// The driver's settings for a GPU of this class. MIG devices and GPUs with a single claim need none.
///
/// `replicas` determines the fraction of a GPU that each MPS client gets, as with a device plugin; the number of
/// clients depends on the pods that reference the claim.
/// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0 `api/nvidia.com/resource/v1beta1` (`GpuConfig`).
fn driver_parameters(pool: &Pool, class: &DeviceClass) -> Option<Value> {
    let (Sharing::Mps { replicas, .. }, DeviceKind::FullGpu) =
        (pool.sharing.expect_resolved(), class.device_kind)
    else {
        return None;
    };
    let memory = pool.gpus.expect_resolved().as_ref()?.model.memory_mib / replicas.value;
    Some(json!({
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {
            "strategy": "MPS",
            "mpsConfig": {
                "defaultActiveThreadPercentage": 100 / replicas.value,
                "defaultPinnedDeviceMemoryLimit": format!("{memory}Mi"),
            },
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::with_checked_pool;

    /// The specification of each class of a pool with these keys, by its name.
    fn classes(pool: &str) -> Vec<(String, Value)> {
        with_checked_pool(pool, |cluster| {
            let objects = objects(&cluster).into_iter();
            let spec = |object: Object| {
                let value = serde_json::to_value(&object.node).expect("an object is JSON");
                (object.identity.name, value["spec"].clone())
            };
            objects.map(spec).collect()
        })
    }

    #[test]
    fn device_class_selects_the_gpu_model() {
        let found = classes("gpu: {model: L4, perNode: 2}");
        let expression = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu' && \
             device.attributes['gpu.nvidia.com'].productName.lowerAscii().replace(' ', '-') == 'nvidia-l4'";
        let spec = json!({"selectors": [{"cel": {"expression": expression}}]});
        assert_eq!(found, [("gpu.gpuc.dev".to_owned(), spec)]);
    }

    #[test]
    fn mps_clients_get_equal_limits() {
        let found = classes("gpu: {model: A30, perNode: 2}, sharing: {mps: {replicas: 8}}");
        let config = &found[0].1["config"][0]["opaque"];
        assert_eq!(config["driver"], "gpu.nvidia.com");
        // 24576 MiB and 100 %, eight times.
        let mps = json!({"defaultActiveThreadPercentage": 12, "defaultPinnedDeviceMemoryLimit": "3072Mi"});
        let sharing = json!({"strategy": "MPS", "mpsConfig": mps});
        assert_eq!(config["parameters"]["sharing"], sharing);
        assert_eq!(config["parameters"]["kind"], "GpuConfig");
    }

    #[test]
    fn mig_profiles_and_full_gpus_have_own_classes() {
        let layout =
            "[{gpus: '0', layout: [{profile: 1g.6gb, count: 2}, {profile: 2g.12gb, count: 1}]}]";
        let pool = format!(
            "gpu: {{model: A30, perNode: 2}}, existing: {{selector: {{a: b}}}}, \
             sharing: {{mig: {{strategy: mixed, perGpu: {layout}}}}}"
        );
        let found = classes(&pool);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "gpu.gpuc.dev",
            "mig-1g.6gb.gpu.gpuc.dev",
            "mig-2g.12gb.gpu.gpuc.dev",
        ];
        assert_eq!(names, expected);
        let expression = found[1].1["selectors"][0]["cel"]["expression"].as_str();
        let expression = expression.expect("an expression");
        assert!(expression.contains(".type == 'mig'"), "{expression}");
        assert!(expression.contains(".profile == '1g.6gb'"), "{expression}");
    }
}
