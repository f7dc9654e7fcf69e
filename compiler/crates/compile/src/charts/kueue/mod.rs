//! Kueue: jobs wait until their team's quota and the nodes have capacity for all of their pods.

mod configuration;

use gpuc_model::KubernetesVersion;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use serde_json::json;

pub(crate) use configuration::queued_groups;

use super::single_release;

/// The chart.
pub static KUEUE: Chart = Chart {
    name: "kueue",
    repository: "oci://registry.k8s.io/kueue/charts",
    version: "0.19.2",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(29),
        newest: None,
        source: "kubernetes-sigs/kueue@v0.19.2 README.md, 2026-08-20",
    }),
    namespace: "kueue-system",
    pod_security: PodSecurity::Restricted,
    crds: Crds::Templates,
    api_groups: &["kueue.x-k8s.io"],
    dependencies: &[],
    releases,
    source: "kubernetes-sigs/kueue@v0.19.2 charts/kueue/values.yaml, 2026-11-21",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let requested = cluster.config.charts.kueue.as_ref().map(|it| it.span);
    let queues = cluster.has_queues().then_some(cluster.config.queueing.span);
    let image = json!({
        "repository": "registry.k8s.io/kueue/kueue",
        "tag": "v0.19.2",
        "pullPolicy": "IfNotPresent",
    });
    let mut values = json!({"controllerManager": {"manager": {"image": image}}});
    if queues.is_some() {
        let text = configuration::configuration_text(cluster);
        values["managerConfig"] = json!({"controllerManagerConfigYaml": text});
        let gates = configuration::feature_gates(cluster);
        if !gates.is_empty() {
            values["controllerManager"]["featureGates"] = json!(gates);
        }
    }
    single_release(&KUEUE, queues.or(requested), &values)
}
