//! kube-prometheus-stack: Prometheus, Alertmanager, their operator, kube-state-metrics, node-exporter, and optionally
//! Grafana.

use gpuc_model::KubernetesVersion;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_schema::config::{InstalledPrometheus, Prometheus};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Value, json};

use super::union_of_tolerations;

/// The chart.
pub static KUBE_PROMETHEUS_STACK: Chart = Chart {
    name: "kube-prometheus-stack",
    repository: "https://prometheus-community.github.io/helm-charts",
    version: "88.5.3",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(25),
        newest: None,
        source: "prometheus-community/helm-charts@kube-prometheus-stack-88.5.3 charts/kube-prometheus-stack/Chart.yaml (kubeVersion), 2026-08-21",
    }),
    namespace: NAMESPACE,
    // node-exporter uses the host network and mounts host folders.
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    api_groups: &["monitoring.coreos.com"],
    dependencies: &[],
    releases,
    source: "prometheus-community/helm-charts@kube-prometheus-stack-88.5.3 charts/kube-prometheus-stack/values.yaml, 2026-11-21",
};

/// The namespace.
pub(crate) const NAMESPACE: &str = "monitoring";

fn installed_prometheus<'c>(cluster: &'c Checked<'_>) -> Option<&'c InstalledPrometheus> {
    match &cluster.config.monitoring.as_ref()?.prometheus.value {
        Prometheus::Install(install) => Some(install),
        Prometheus::Existing(_) => None,
    }
}

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let monitoring = cluster.config.monitoring.as_ref().map(|it| it.span);
    let release = |install: &InstalledPrometheus| {
        let reason = "`monitoring.prometheus.install` installs Prometheus";
        Release {
            name: KUBE_PROMETHEUS_STACK.name.to_owned(),
            chart: &KUBE_PROMETHEUS_STACK,
            repository: KUBE_PROMETHEUS_STACK.repository.to_owned(),
            namespace: NAMESPACE.to_owned(),
            values: Node::from_serializable(
                &values(cluster, install),
                Origin::rule(monitoring, reason),
            ),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    };
    installed_prometheus(cluster)
        .map(release)
        .into_iter()
        .collect()
}

fn values(cluster: &Checked<'_>, install: &InstalledPrometheus) -> Value {
    let storage = install.storage.as_ref().map(|storage| {
        json!({"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage.class.as_ref().map(|class| &class.value),
            "resources": {"requests": {"storage": format!("{}Gi", storage.size_gib)}},
        }}})
    });
    // If true, Prometheus selects only objects with the label of this release.
    let own_only = false;
    let mut values = json!({
        "prometheus": {"prometheusSpec": {
            "podMonitorSelectorNilUsesHelmValues": own_only,
            "probeSelectorNilUsesHelmValues": own_only,
            "ruleSelectorNilUsesHelmValues": own_only,
            "scrapeConfigSelectorNilUsesHelmValues": own_only,
            "serviceMonitorSelectorNilUsesHelmValues": own_only,
            "retention": format!("{}d", install.retention_days),
            "storageSpec": storage,
        }},
        "grafana": grafana_values(install),
    });
    if let Some(tolerations) = node_exporter_tolerations(cluster) {
        values["prometheus-node-exporter"] = json!({"tolerations": tolerations});
    }
    if cluster.cloud.facts().has_managed_control_plane {
        for component in CONTROL_PLANE {
            values[component] = json!({"enabled": false});
        }
    }
    values
}

/// The components whose monitors, default rules and dashboards are off on a managed control plane: Prometheus cannot
/// reach them, so alerts such as `KubeSchedulerDown` would always fire. kube-proxy is there because it listens only on
/// its own node. One value switches all three: prometheus-community/helm-charts@ea930bae
/// `charts/kube-prometheus-stack/templates`, `prometheus/rules-1.14` and `grafana/dashboards-1.14`, read 2026-11-26.
///
/// On premises they keep the chart's default, which is on. kubeadm binds the scheduler and the controller manager to
/// 127.0.0.1 by default (kubernetes/kubernetes@01428e64 `cmd/kubeadm/app/phases/controlplane/manifests.go`, a copy of
/// an old release, read 2026-11-26), so that Prometheus reaches them only if the administrator changes that. Only the
/// administrator knows this, and can switch them off in `charts.kube-prometheus-stack.values`.
const CONTROL_PLANE: &[&str] = &[
    "kubeControllerManager",
    "kubeEtcd",
    "kubeProxy",
    "kubeScheduler",
];

/// The tolerations of node-exporter if the chart's default does not suffice. By default it tolerates every taint with
/// the effect `NoSchedule`, but not `NoExecute`. Because this list replaces the chart's, it repeats that entry, so that
/// nodes outside the pools, such as those of the control plane, are also monitored.
///
/// Source: prometheus-community/helm-charts@01931990 `charts/prometheus-node-exporter/values.yaml`, `tolerations`, read
/// 2026-11-21.
fn node_exporter_tolerations(cluster: &Checked<'_>) -> Option<Vec<Value>> {
    let no_execute: Vec<_> = (union_of_tolerations(&cluster.pools).into_iter())
        .filter(|toleration| toleration.effect.as_deref() == Some("NoExecute"))
        .map(|toleration| json!(toleration))
        .collect();
    let no_schedule = json!({"operator": "Exists", "effect": "NoSchedule"});
    (!no_execute.is_empty()).then(|| std::iter::once(no_schedule).chain(no_execute).collect())
}

/// Grafana's values. Without a Secret for its administrator, the chart would generate a password at each rendering.
fn grafana_values(install: &InstalledPrometheus) -> Value {
    let Some(grafana) = &install.grafana else {
        return json!({"enabled": false});
    };
    json!({
        "enabled": true,
        "admin": {
            "existingSecret": grafana.admin_secret.value,
            "userKey": "admin-user",
            "passwordKey": "admin-password",
        },
        "sidecar": {"dashboards": {
            "enabled": true,
            "label": "grafana_dashboard",
            "labelValue": "1",
            "searchNamespace": "ALL",
        }},
    })
}
