//! NVIDIA's device plugin: one release for each pool that it serves, so that each tolerates its own pool's taints and
//! nothing else.

use gpuc_schema::config::{DevicePlugin, DriverOwner, Extra};
use serde_json::{Map, Value, json};

use super::{Chart, Crds, PodSecurity, affinity, plugin_config};
use crate::check::Checked;
use crate::cloud::Injection;
use crate::lower;
use crate::model::operator::CLIENT;
use crate::model::{Pool, Sharing};
use crate::node::{Node, Origin};
use crate::plan::Release;

/// The chart.
pub static NVIDIA_DEVICE_PLUGIN: Chart = Chart {
    name: "nvidia-device-plugin",
    repository: "https://nvidia.github.io/k8s-device-plugin",
    version: "0.20.0",
    namespace: NAMESPACE,
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    groups: &[],
    after: &[],
    releases,
    source: "NVIDIA/k8s-device-plugin@v0.20.0 deployments/helm/nvidia-device-plugin/values.yaml, 2026-11-21",
};

/// The namespace of every release.
const NAMESPACE: &str = "nvidia-device-plugin";

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools = cluster.pools_advertised_by(DevicePlugin::Nvidia);
    pools.map(|pool| release(cluster, pool)).collect()
}

fn release(cluster: &Checked<'_>, pool: &Pool) -> Release {
    let origin = Origin::rule(
        [lower::inputs::placement(pool), lower::inputs::serving(pool)].concat(),
        "a pool that NVIDIA's device plugin serves has a release of its own, which tolerates its taints",
    );
    Release {
        name: full_name(pool),
        chart: &NVIDIA_DEVICE_PLUGIN,
        repository: NVIDIA_DEVICE_PLUGIN.repository.to_owned(),
        namespace: NAMESPACE.to_owned(),
        values: Node::typed(&values(cluster, pool), origin),
        pools: vec![pool.name.value.clone()],
        daemon_sets: vec![full_name(pool)],
    }
}

/// The DaemonSet that a pool's release makes, as namespace and name.
pub(crate) fn daemon_set(pool: &Pool) -> (String, String) {
    (NAMESPACE.to_owned(), full_name(pool))
}

fn full_name(pool: &Pool) -> String {
    format!("nvidia-device-plugin-{}", pool.name)
}

fn values(cluster: &Checked<'_>, pool: &Pool) -> Value {
    let access = lower::access(cluster, pool);
    let mut values = Map::new();
    // A release of the same chart in the same namespace needs a name of its own for everything it makes.
    values.insert("fullnameOverride".to_owned(), json!(full_name(pool)));
    if let Some(config) = config(pool) {
        let name = pool.name.value.clone();
        values.insert("config".to_owned(), json!({"map": {name: config}}));
    }
    if let Sharing::Mig { strategy, .. } = pool.sharing.sure() {
        let strategy = lower::strategy_word(strategy.value);
        values.insert("migStrategy".to_owned(), json!(strategy));
    }
    for extra in lower::extras(pool) {
        let key = match extra {
            Extra::Gdrcopy => "gdrcopyEnabled",
            Extra::Gds => "gdsEnabled",
            Extra::Mofed => "mofedEnabled",
            // The chart has no value for it; the plugin's own configuration has.
            Extra::Imex => continue,
        };
        values.insert(key.to_owned(), json!(true));
    }
    if access.injection == Injection::Cdi {
        values.insert("deviceListStrategy".to_owned(), json!("cdi-cri"));
        // The chart mounts the driver's folder, which the plugin reads to write CDI specs, only where it is named.
        values.insert("nvidiaDriverRoot".to_owned(), json!(access.driver_root));
    }
    if let Some(class) = access.runtime_class {
        values.insert("runtimeClassName".to_owned(), json!(class.name));
    }
    if pool.driver.value == DriverOwner::Operator {
        // The operator sends away by it whatever holds the driver, before it changes it.
        values.insert("nodeSelector".to_owned(), json!({CLIENT: "true"}));
    }
    values.insert("affinity".to_owned(), affinity([pool]));
    values.insert("tolerations".to_owned(), json!(lower::tolerations(pool)));
    Value::Object(values)
}

/// The plugin's own configuration file, where it needs one. The chart wants it as text.
fn config(pool: &Pool) -> Option<String> {
    let parts = [plugin_config::sharing(pool.sharing.sure()), imex(pool)];
    let parts: String = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("version: v1\n{parts}"))
}

/// The one channel that the plugin can hand out (`api/config/v1/imex.go`); a node without it serves all the same.
fn imex(pool: &Pool) -> Option<String> {
    let wanted = lower::extras(pool).contains(&Extra::Imex);
    wanted.then(|| "imex:\n\x20 channelIDs: [0]\n\x20 required: false\n".to_owned())
}
