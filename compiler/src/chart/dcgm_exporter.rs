//! NVIDIA's dcgm-exporter: one release for each pool that it measures, so that each tolerates its own pool's taints and
//! nothing else, and exports what the pool's rules read and nothing else.
//!
//! Each release has a namespace of its own: the chart calls its list of metrics `exporter-metrics-config-map` and the
//! role that may read it `dcgm-exporter-read-cm`, whatever the release is called. One release for all pools would have
//! every pool's tolerations on every pool, one runtime class for all node images, and profiling rights everywhere
//! because one pool needs them.

use gpuc_schema::config::Allocation;
use serde_json::{Map, Value, json};

use super::{Chart, Crds, PodSecurity, affinity};
use crate::check::Checked;
use crate::cloud::Injection;
use crate::lower;
use crate::lower::monitoring::{self, Measures};
use crate::model::{POOL_LABEL, Pool, Sharing};
use crate::node::{Node, Origin};
use crate::plan::Release;

/// The chart.
pub static DCGM_EXPORTER: Chart = Chart {
    name: "dcgm-exporter",
    repository: "https://nvidia.github.io/dcgm-exporter/helm-charts",
    version: "4.8.2",
    namespace: "dcgm-exporter",
    // It mounts the kubelet's folder, which every other level forbids.
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    groups: &[],
    after: &[],
    releases,
    source: "NVIDIA/dcgm-exporter@4.5.3-4.8.2 deployment/values.yaml and templates, 2026-11-21",
};

/// The value of the label `app.kubernetes.io/name` of its pods.
pub(crate) const POD_NAME: &str = "dcgm-exporter";

/// Where containers of Bottlerocket name their GPUs by a mount. `all` names all.
///
/// Source: <https://bottlerocket.dev/en/os/1.54.x/api/settings/nvidia-container-runtime>: variables of unprivileged
/// containers are not read, mounts under this folder are.
const VISIBLE_BY_MOUNT: &str = "/var/run/nvidia-container-devices/all";

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools = cluster.pools.iter();
    let measured = pools.filter(|pool| monitoring::measures(cluster, pool) == Some(Measures::Dcgm));
    measured.map(|pool| release(cluster, pool)).collect()
}

/// The namespace of a pool's release.
pub(crate) fn namespace(pool: &Pool) -> String {
    full_name(pool)
}

/// The DaemonSet that a pool's release makes, as namespace and name.
pub(crate) fn daemon_set(pool: &Pool) -> (String, String) {
    (namespace(pool), full_name(pool))
}

fn full_name(pool: &Pool) -> String {
    format!("dcgm-exporter-{}", pool.name)
}

fn release(cluster: &Checked<'_>, pool: &Pool) -> Release {
    let asked = cluster.written.monitoring.as_ref().map(|it| it.span);
    let inputs = lower::inputs::placement(pool).into_iter();
    let inputs = inputs.chain(lower::inputs::serving(pool)).chain(asked);
    let why =
        "a pool that dcgm-exporter measures has a release of its own, which tolerates its taints";
    Release {
        name: full_name(pool),
        chart: &DCGM_EXPORTER,
        repository: DCGM_EXPORTER.repository.to_owned(),
        namespace: namespace(pool),
        values: Node::typed(&values(cluster, pool), Origin::rule(inputs, why)),
        pools: vec![pool.name.value.clone()],
        daemon_sets: vec![full_name(pool)],
    }
}

fn values(cluster: &Checked<'_>, pool: &Pool) -> Value {
    let access = lower::access(cluster, pool);
    let metrics = monitoring::dcgm_metrics(cluster, [pool]);
    let mut values = Map::new();
    let mut set = |key: &str, value: Value| values.insert(key.to_owned(), value);
    set("fullnameOverride", json!(full_name(pool)));
    set("customMetrics", json!(monitoring::csv(&metrics)));
    set("podLabels", json!({POOL_LABEL: pool.name.value}));
    // A PodMonitor of this tree scrapes it.
    set("serviceMonitor", json!({"enabled": false}));
    set("affinity", affinity([pool]));
    set("tolerations", json!(lower::tolerations(pool)));
    if pool.allocation.value == Allocation::Dra {
        // Otherwise it looks for pods among what plugins handed out, and no series says who holds a GPU. The kubelet
        // tells it of claims by `KubeletPodResourcesDynamicResources`, on from Kubernetes 1.34 (from memory).
        set("kubernetesDRA", json!({"enabled": true}));
    }
    if let Some(class) = access.runtime_class {
        set("runtimeClassName", json!(class.name));
    }
    let profiles = metrics.iter().any(|metric| metric.is_profiling());
    let is_mig = matches!(pool.sharing.sure(), Sharing::Mig { .. });
    set(
        "securityContext",
        security(access.injection, profiles || is_mig),
    );
    if let Injection::DeviceNodes { host, container } = access.injection {
        // No NVIDIA container runtime is there to bring the driver's libraries.
        set(
            "extraHostVolumes",
            json!([{"name": "nvidia-driver", "hostPath": host}]),
        );
        set(
            "extraVolumeMounts",
            mounts(&json!({"name": "nvidia-driver", "mountPath": container, "readOnly": true})),
        );
        set(
            "extraEnv",
            json!([{"name": "LD_LIBRARY_PATH", "value": format!("{container}/lib64")}]),
        );
    } else if access.visible_by_mount {
        set(
            "extraHostVolumes",
            json!([{"name": "all-gpus", "hostPath": "/dev/null"}]),
        );
        set(
            "extraVolumeMounts",
            mounts(&json!({"name": "all-gpus", "mountPath": VISIBLE_BY_MOUNT, "readOnly": true})),
        );
    }
    Value::Object(values)
}

/// Another mount beside that of the list of metrics, which a list of ours would replace.
fn mounts(another: &Value) -> Value {
    json!([
        {
            "name": "exporter-metrics-volume",
            "mountPath": "/etc/dcgm-exporter/default-counters.csv",
            "subPath": "default-counters.csv",
        },
        another,
    ])
}

/// The least that the exporter can do with. It is root for the kubelet's socket. Profiling needs `SYS_ADMIN`, and NVML
/// shows a node's slices only to who has it; device nodes that no container runtime hands out need all of it, as GKE's
/// own exporter has.
fn security(injection: Injection, administrates: bool) -> Value {
    if matches!(injection, Injection::DeviceNodes { .. }) {
        return json!({"privileged": true, "allowPrivilegeEscalation": true});
    }
    let add: &[&str] = if administrates { &["SYS_ADMIN"] } else { &[] };
    json!({"capabilities": {"add": add, "drop": ["ALL"]}})
}
