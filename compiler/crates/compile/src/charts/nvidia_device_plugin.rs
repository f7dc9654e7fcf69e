//! NVIDIA's device plugin: one release for each pool that it serves, so that each tolerates only its own pool's taints.

use gpuc_model::check::Checked;
use gpuc_model::cloud::Injection;
use gpuc_model::operator::DEPLOY_CLIENT_LABEL;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, Pool, Sharing};
use gpuc_schema::config::{DevicePlugin, DriverOwner};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, Value, json};

use super::{node_affinity, plugin_config};
use crate::lower;

/// The chart.
pub static NVIDIA_DEVICE_PLUGIN: Chart = Chart {
    name: "nvidia-device-plugin",
    repository: "https://nvidia.github.io/k8s-device-plugin",
    version: "0.20.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(10),
        newest: None,
        source: "NVIDIA/k8s-device-plugin@v0.20.0 deployments/helm/nvidia-device-plugin/Chart.yaml (kubeVersion), 2026-08-19",
    }),
    namespace: NAMESPACE,
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    api_groups: &[],
    dependencies: &[],
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
        [
            gpuc_model::derive::origins::placement_spans(pool),
            gpuc_model::derive::origins::serving_spans(pool),
        ]
        .concat(),
        "a pool that NVIDIA's device plugin serves has a release of its own, which tolerates its taints",
    );
    Release {
        name: full_name(pool),
        chart: &NVIDIA_DEVICE_PLUGIN,
        repository: NVIDIA_DEVICE_PLUGIN.repository.to_owned(),
        namespace: NAMESPACE.to_owned(),
        values: Node::from_serializable(&values(cluster, pool), origin),
        pools: vec![pool.name.value.clone()],
        daemon_sets: daemon_sets(cluster, pool),
    }
}

/// The DaemonSet of the plugin on a pool, as namespace and name.
pub(crate) fn daemon_set(pool: &Pool) -> (String, String) {
    (NAMESPACE.to_owned(), full_name(pool))
}

/// The DaemonSets of a pool's release.
fn daemon_sets(cluster: &Checked<'_>, pool: &Pool) -> Vec<String> {
    let name = full_name(pool);
    // The chart shortens the name in the same way (templates/daemonset-gfd.yml).
    let discovery = cluster.has_feature_discovery(pool).then(|| {
        let full = format!("{name}-gpu-feature-discovery");
        let short = full.get(..63).unwrap_or(&full);
        short.trim_end_matches('-').to_owned()
    });
    [name].into_iter().chain(discovery).collect()
}

fn full_name(pool: &Pool) -> String {
    format!("nvidia-device-plugin-{}", pool.name)
}

fn values(cluster: &Checked<'_>, pool: &Pool) -> Value {
    let access = lower::driver_access(cluster, pool);
    let mut values = Map::new();
    // The names of objects must differ between releases of the same chart in the same namespace.
    values.insert("fullnameOverride".to_owned(), json!(full_name(pool)));
    if let Some(config) = config_file(pool) {
        let name = pool.name.value.clone();
        values.insert("config".to_owned(), json!({"map": {name: config}}));
    }
    if let Sharing::Mig { strategy, .. } = pool.sharing.expect_resolved() {
        let strategy = strategy.as_str();
        values.insert("migStrategy".to_owned(), json!(strategy));
    }
    let components = lower::injected_components(pool).into_iter();
    for flag in components.filter_map(plugin_config::component_flag) {
        values.insert(flag.to_owned(), json!(true));
    }
    if access.injection == Injection::Cdi {
        values.insert("deviceListStrategy".to_owned(), json!("cdi-cri"));
        // The plugin reads the driver's folder to write CDI specs. The chart mounts it only if it is set.
        values.insert("nvidiaDriverRoot".to_owned(), json!(access.driver_root));
    }
    if let Some(class) = access.runtime_class {
        values.insert("runtimeClassName".to_owned(), json!(class.name));
    }
    if pool.driver.value == DriverOwner::Operator {
        // The operator uses this label to evict pods that use the driver before it changes the driver.
        values.insert(
            "nodeSelector".to_owned(),
            json!({DEPLOY_CLIENT_LABEL: "true"}),
        );
    }
    if cluster.has_feature_discovery(pool) {
        values.insert("gfd".to_owned(), json!({"enabled": true}));
        // The release of `charts.node-feature-discovery` writes the labels. One for each pool would conflict with it.
        values.insert("nfd".to_owned(), json!({"enabled": false}));
    }
    values.insert("affinity".to_owned(), node_affinity([pool]));
    values.insert(
        "tolerations".to_owned(),
        json!(gpuc_model::derive::tolerations(pool)),
    );
    Value::Object(values)
}

/// The plugin's own configuration file, if it needs one. The chart takes it as text.
fn config_file(pool: &Pool) -> Option<String> {
    let sections = [
        plugin_config::sharing_section(pool.sharing.expect_resolved()),
        plugin_config::imex_section(pool),
    ];
    let sections: String = sections.into_iter().flatten().collect();
    (!sections.is_empty()).then(|| format!("version: v1\n{sections}"))
}
