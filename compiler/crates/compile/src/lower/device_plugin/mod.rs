//! The manifests of gpuc-runtime, the device plugin: one DaemonSet and one ConfigMap for each pool it serves, and
//! shared objects.

mod admission;
mod container;
pub(crate) mod daemon_set;
mod driver_folders;
mod shared;

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::derive::origins;
use gpuc_model::plan::Object;
use gpuc_model::{POOL_LABEL, Pool};
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::node_config::node_config;

/// The folder of the manifests, and the name of the shared objects.
pub(crate) const COMPONENT: &str = "gpuc-runtime";

/// The folder of the objects for NVIDIA's plugin.
const NVIDIA_COMPONENT: &str = "nvidia-device-plugin";

/// The namespace of gpuc's components.
pub(crate) const NAMESPACE: &str = "gpuc-system";

/// The label that identifies its pods.
pub(crate) const POD_NAME_LABEL: &str = "app.kubernetes.io/name";

/// The file of the runtime's configuration in its ConfigMap.
const CONFIG_FILE: &str = "node.json";

/// The objects; if gpuc-runtime serves no pool, only the RuntimeClasses that NVIDIA's plugin needs.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let pools: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Gpuc).collect();
    let nvidia_pools = cluster.pools_advertised_by(DevicePlugin::Nvidia);
    let all: Vec<_> = pools.iter().copied().chain(nvidia_pools).collect();
    if pools.is_empty() {
        return shared::runtime_classes(NVIDIA_COMPONENT, cluster, &all);
    }
    let mut objects = shared::objects(&pools);
    objects.extend(shared::runtime_classes(COMPONENT, cluster, &all));
    for pool in pools {
        objects.push(config_map(cluster, pool));
        objects.push(daemon_set::daemon_set(cluster, pool));
    }
    objects
}

/// The name of a pool's DaemonSet and ConfigMap.
pub(super) fn pool_name(pool: &Pool) -> String {
    format!("{COMPONENT}-{}", pool.name)
}

fn config_map(cluster: &Checked<'_>, pool: &Pool) -> Object {
    let config = node_config(cluster, pool);
    let mut json = serde_json::to_string_pretty(&config)
        .expect("a NodeConfig has only text, numbers and lists");
    json.push('\n');
    let object = ConfigMap {
        metadata: metadata(pool_name(pool), Some(NAMESPACE), pool_labels(pool)),
        data: Some(BTreeMap::from([(CONFIG_FILE.to_owned(), json)])),
        ..ConfigMap::default()
    };
    let monitoring = cluster.config.monitoring.as_ref().map(|it| it.span);
    let inputs = [cluster.name.span, pool.name.span]
        .into_iter()
        .chain(origins::serving_spans(pool))
        .chain(monitoring);
    let reason = "gpuc-runtime reads the sharing mode and the injection method of its pool's GPUs";
    Object::new(COMPONENT, &object, Origin::rule(inputs, reason))
}

/// Metadata with the labels of all objects of the runtime.
fn metadata(
    name: impl Into<String>,
    namespace: Option<&str>,
    more: BTreeMap<String, String>,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: namespace.map(str::to_owned),
        labels: Some(labels(more)),
        ..ObjectMeta::default()
    }
}

/// The labels of all objects of the runtime, and additional ones.
fn labels(more: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let common = [
        (POD_NAME_LABEL, COMPONENT),
        ("app.kubernetes.io/component", "device-plugin"),
        ("app.kubernetes.io/managed-by", "gpuc"),
    ];
    (common.into_iter())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .chain(more)
        .collect()
}

fn pool_labels(pool: &Pool) -> BTreeMap<String, String> {
    BTreeMap::from([(POOL_LABEL.to_owned(), pool.name.value.clone())])
}
