//! kube-prometheus-stack: Prometheus, Alertmanager, their operator, kube-state-metrics and the exporter of nodes, and
//! where asked for Grafana.

use gpuc_schema::config::{InstalledPrometheus, Prometheus};
use serde_json::{Value, json};

use super::{Chart, Crds, PodSecurity, tolerations};
use crate::check::Checked;
use crate::node::{Node, Origin};
use crate::plan::Release;

/// The chart.
pub static KUBE_PROMETHEUS_STACK: Chart = Chart {
    name: "kube-prometheus-stack",
    repository: "https://prometheus-community.github.io/helm-charts",
    version: "88.5.3",
    namespace: NAMESPACE,
    // The exporter of nodes is in their network and mounts their folders.
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    groups: &["monitoring.coreos.com"],
    after: &[],
    releases,
    source: "prometheus-community/helm-charts@kube-prometheus-stack-88.5.3 charts/kube-prometheus-stack/values.yaml, 2026-11-21",
};

/// The namespace.
pub(crate) const NAMESPACE: &str = "monitoring";

fn wanted<'c>(cluster: &'c Checked<'_>) -> Option<&'c InstalledPrometheus> {
    match &cluster.written.monitoring.as_ref()?.prometheus.value {
        Prometheus::Install(install) => Some(install),
        Prometheus::Existing(_) => None,
    }
}

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let asked = cluster.written.monitoring.as_ref().map(|it| it.span);
    let release = |install: &InstalledPrometheus| {
        let why = "`monitoring.prometheus.install` asks for a Prometheus";
        Release {
            name: KUBE_PROMETHEUS_STACK.name.to_owned(),
            chart: &KUBE_PROMETHEUS_STACK,
            repository: KUBE_PROMETHEUS_STACK.repository.to_owned(),
            namespace: NAMESPACE.to_owned(),
            values: Node::typed(&values(cluster, install), Origin::rule(asked, why)),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    };
    wanted(cluster).map(release).into_iter().collect()
}

fn values(cluster: &Checked<'_>, install: &InstalledPrometheus) -> Value {
    let storage = install.storage.as_ref().map(|storage| {
        json!({"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage.class.as_ref().map(|class| &class.value),
            "resources": {"requests": {"storage": format!("{}Gi", storage.size_gib)}},
        }}})
    });
    // Otherwise only what has the label of this release would be picked.
    let all = false;
    let mut values = json!({
        "prometheus": {"prometheusSpec": {
            "podMonitorSelectorNilUsesHelmValues": all,
            "probeSelectorNilUsesHelmValues": all,
            "ruleSelectorNilUsesHelmValues": all,
            "scrapeConfigSelectorNilUsesHelmValues": all,
            "serviceMonitorSelectorNilUsesHelmValues": all,
            "retention": format!("{}d", install.retention_days),
            "storageSpec": storage,
        }},
        "grafana": grafana(install),
    });
    if let Some(tolerations) = of_every_node(cluster) {
        values["prometheus-node-exporter"] = json!({"tolerations": tolerations});
    }
    if cluster.cloud.facts().managed_control_plane {
        // They cannot be reached there, and an alert about each would always fire. kube-proxy listens to its own node
        // alone.
        for part in [
            "kubeControllerManager",
            "kubeEtcd",
            "kubeProxy",
            "kubeScheduler",
        ] {
            values[part] = json!({"enabled": false});
        }
    }
    values
}

/// What the exporter of nodes tolerates where the chart's own is not enough. By default it runs whatever keeps new pods
/// off a node, but a taint that drives pods away drives it away too. A list of ours takes the place of the chart's, so
/// that its one entry is repeated: nodes that are no pool's, as those of the control plane, are watched as well.
///
/// Source: prometheus-community/helm-charts@01931990 `charts/prometheus-node-exporter/values.yaml`, `tolerations`, read
/// 2026-11-21.
fn of_every_node(cluster: &Checked<'_>) -> Option<Vec<Value>> {
    let evicting = tolerations(&cluster.pools).into_iter();
    let evicting = evicting.filter(|it| it.effect.as_deref() == Some("NoExecute"));
    let evicting: Vec<_> = evicting.map(|it| json!(it)).collect();
    let anywhere = json!({"operator": "Exists", "effect": "NoSchedule"});
    (!evicting.is_empty()).then(|| std::iter::once(anywhere).chain(evicting).collect())
}

/// Without a Secret for its administrator the chart would make up a password at each rendering.
fn grafana(install: &InstalledPrometheus) -> Value {
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
