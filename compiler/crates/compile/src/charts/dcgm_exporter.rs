//! NVIDIA's dcgm-exporter: one release for each pool that it measures. Each tolerates only its own pool's taints and
//! exports only the metrics that the pool's rules read.
//!
//! Each release has its own namespace because the chart has fixed names for its list of metrics
//! (`exporter-metrics-config-map`) and the role that may read it (`dcgm-exporter-read-cm`). One release for all pools
//! would tolerate every pool's taints on every pool, have one runtime class for all node images, and have profiling
//! permissions everywhere because one pool needs them.

use gpuc_model::check::Checked;
use gpuc_model::cloud::{Injection, KUBELET_DIR};
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, POOL_LABEL, Pool, Sharing};
use gpuc_schema::config::Allocation;
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, Value, json};

use super::node_affinity;
use crate::lower::monitoring::{self, GpuExporter};
use crate::lower::{self};

/// The chart.
pub static DCGM_EXPORTER: Chart = Chart {
    name: "dcgm-exporter",
    repository: "https://nvidia.github.io/dcgm-exporter/helm-charts",
    version: "4.8.2",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(19),
        newest: None,
        source: "NVIDIA/dcgm-exporter@4.5.3-4.8.2 deployment/Chart.yaml (kubeVersion), 2026-05-06",
    }),
    namespace: "dcgm-exporter",
    // It mounts the kubelet's folder, which all other levels forbid.
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    api_groups: &[],
    dependencies: &[],
    releases,
    source: "NVIDIA/dcgm-exporter@4.5.3-4.8.2 deployment/values.yaml and templates, 2026-11-21",
};

/// The value of the label `app.kubernetes.io/name` of its pods.
pub(crate) const POD_NAME: &str = "dcgm-exporter";

/// The mount path by which containers on Bottlerocket request all GPUs.
///
/// Source: <https://bottlerocket.dev/en/os/1.54.x/api/settings/nvidia-container-runtime>: variables of unprivileged
/// containers are not read, mounts under this folder are.
const VISIBLE_BY_MOUNT: &str = "/var/run/nvidia-container-devices/all";

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools = cluster.pools.iter();
    let measured =
        pools.filter(|pool| monitoring::gpu_exporter(cluster, pool) == Some(GpuExporter::Dcgm));
    measured.map(|pool| release(cluster, pool)).collect()
}

/// The namespace of a pool's release.
pub(crate) fn namespace(pool: &Pool) -> String {
    full_name(pool)
}

/// The DaemonSet of a pool's release, as namespace and name.
pub(crate) fn daemon_set(pool: &Pool) -> (String, String) {
    (namespace(pool), full_name(pool))
}

fn full_name(pool: &Pool) -> String {
    format!("dcgm-exporter-{}", pool.name)
}

fn release(cluster: &Checked<'_>, pool: &Pool) -> Release {
    let monitoring_span = cluster.config.monitoring.as_ref().map(|it| it.span);
    let inputs = gpuc_model::derive::origins::placement_spans(pool).into_iter();
    let inputs = inputs
        .chain(gpuc_model::derive::origins::serving_spans(pool))
        .chain(monitoring_span);
    let reason =
        "a pool that dcgm-exporter measures has a release of its own, which tolerates its taints";
    Release {
        name: full_name(pool),
        chart: &DCGM_EXPORTER,
        repository: DCGM_EXPORTER.repository.to_owned(),
        namespace: namespace(pool),
        values: Node::from_serializable(&values(cluster, pool), Origin::rule(inputs, reason)),
        pools: vec![pool.name.value.clone()],
        daemon_sets: vec![full_name(pool)],
    }
}

fn values(cluster: &Checked<'_>, pool: &Pool) -> Value {
    let access = lower::driver_access(cluster, pool);
    let metrics = monitoring::dcgm_metrics(cluster, [pool]);
    let mut values = Map::new();
    let mut set = |key: &str, value: Value| values.insert(key.to_owned(), value);
    set("fullnameOverride", json!(full_name(pool)));
    set("customMetrics", json!(monitoring::metrics_csv(&metrics)));
    set("podLabels", json!({POOL_LABEL: pool.name.value}));
    // A PodMonitor of the generated tree scrapes it.
    set("serviceMonitor", json!({"enabled": false}));
    set("affinity", node_affinity([pool]));
    set("tolerations", json!(gpuc_model::derive::tolerations(pool)));
    if pool.allocation.value == Allocation::Dra {
        // Without it, the exporter knows only the devices that plugins allocated, and no series names the pod of a GPU.
        // The kubelet reports ResourceClaims with `KubeletPodResourcesDynamicResources`, which is enabled by default
        // since Kubernetes 1.34 (from memory).
        set("kubernetesDRA", json!({"enabled": true}));
    }
    if let Some(class) = access.runtime_class {
        set("runtimeClassName", json!(class.name));
    }
    let kubelet = cluster.cloud.facts().kubelet_dir;
    if kubelet != KUBELET_DIR {
        set("kubeletPath", json!(format!("{kubelet}/pod-resources")));
    }
    let profiles = metrics.iter().any(|metric| metric.is_profiling());
    let is_mig = matches!(pool.sharing.expect_resolved(), Sharing::Mig { .. });
    set(
        "securityContext",
        security_values(access.injection, profiles || is_mig),
    );
    if let Injection::DeviceNodes { host, container } = access.injection {
        // The nodes have no NVIDIA container runtime that mounts the driver's libraries.
        set(
            "extraHostVolumes",
            json!([{"name": "nvidia-driver", "hostPath": host}]),
        );
        set(
            "extraVolumeMounts",
            extra_mounts(
                &json!({"name": "nvidia-driver", "mountPath": container, "readOnly": true}),
            ),
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
            extra_mounts(
                &json!({"name": "all-gpus", "mountPath": VISIBLE_BY_MOUNT, "readOnly": true}),
            ),
        );
    }
    Value::Object(values)
}

/// A mount in addition to that of the list of metrics. The chart's list is repeated because this one replaces it.
fn extra_mounts(additional: &Value) -> Value {
    json!([
        {
            "name": "exporter-metrics-volume",
            "mountPath": "/etc/dcgm-exporter/default-counters.csv",
            "subPath": "default-counters.csv",
        },
        additional,
    ])
}

/// The minimal permissions of the exporter. It runs as root to open the kubelet's socket. Profiling requires
/// `SYS_ADMIN`, and so does NVML to list a node's MIG devices. Device nodes that no container runtime injects require a
/// privileged container, which GKE's own exporter is as well.
fn security_values(injection: Injection, is_admin: bool) -> Value {
    if matches!(injection, Injection::DeviceNodes { .. }) {
        return json!({"privileged": true, "allowPrivilegeEscalation": true});
    }
    let add: &[&str] = if is_admin { &["SYS_ADMIN"] } else { &[] };
    json!({"capabilities": {"add": add, "drop": ["ALL"]}})
}
