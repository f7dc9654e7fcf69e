//! The scrape configuration: one PodMonitor for each exporter, which gives every target the labels that rules require.
//!
//! `pool` and `node` locate a target. The labels that Prometheus adds for the target's own pod, `namespace`, `pod` and
//! `container`, are dropped: on a GPU metric they name the pod that holds the GPU, or are absent. `honorLabels` keeps
//! these names; without it they become `exported_pod`, and `pod` is the exporter's pod (NVIDIA/dcgm-exporter#85).
//! dcgm-exporter has a PodMonitor too, instead of the ServiceMonitor that its chart can create: the chart then does not
//! depend on the Prometheus Operator and may be installed before it.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::exporter::{DCGM_JOB, GpuExporter, RUNTIME_JOB, gpu_exporter};
use super::{COMPONENT, NAMESPACE, labels, selection_labels};
use crate::charts::dcgm_exporter;
use crate::lower::{POD_NAME_LABEL, RUNTIME_NAME, RUNTIME_NAMESPACE};

/// Prometheus' name for the label `gpuc.dev/pool` of a target's pod.
const POOL_OF_POD: &str = "__meta_kubernetes_pod_label_gpuc_dev_pool";

/// The monitors.
pub(super) fn monitors(cluster: &Checked<'_>) -> Vec<Object> {
    let scraped = scrape_groups(cluster);
    scraped.iter().map(|it| it.pod_monitor(cluster)).collect()
}

/// Every group of scraped pods.
pub(super) fn scrape_groups<'p>(cluster: &'p Checked<'_>) -> Vec<ScrapeGroup<'p>> {
    let measured_by = |exporter: GpuExporter| -> Vec<_> {
        let pools = cluster.pools.iter();
        pools
            .filter(|pool| gpu_exporter(cluster, pool) == Some(exporter))
            .collect()
    };
    let by_dcgm = measured_by(GpuExporter::Dcgm);
    let namespaces = by_dcgm.iter().map(|pool| dcgm_exporter::namespace(pool));
    let of_pools = ScrapeGroup {
        name: DCGM_JOB,
        job: DCGM_JOB,
        namespaces: namespaces.collect(),
        pods: (POD_NAME_LABEL, dcgm_exporter::POD_NAME),
        pools: by_dcgm,
        pool_source: PoolSource::PodLabel,
        reason: "dcgm-exporter measures the GPUs of these pools",
    };
    let of_operator = ScrapeGroup {
        name: "dcgm-exporter-of-operator",
        job: DCGM_JOB,
        namespaces: vec![OPERATOR_NAMESPACE.to_owned()],
        pods: OPERATOR_PODS,
        pools: measured_by(GpuExporter::Operator),
        pool_source: PoolSource::NodeLabels,
        reason: "the GPU Operator's dcgm-exporter measures the GPUs of these pools",
    };
    let of_runtime = ScrapeGroup {
        name: RUNTIME_JOB,
        job: RUNTIME_JOB,
        namespaces: vec![RUNTIME_NAMESPACE.to_owned()],
        pods: (POD_NAME_LABEL, RUNTIME_NAME),
        pools: cluster.pools_advertised_by(DevicePlugin::Gpuc).collect(),
        pool_source: PoolSource::PodLabel,
        reason: "gpuc-runtime serves these pools and exports its status",
    };
    let all = [of_pools, of_operator, of_runtime];
    all.into_iter().filter(|it| !it.pools.is_empty()).collect()
}

/// The namespace in which the GPU Operator runs its operands.
const OPERATOR_NAMESPACE: &str = "gpu-operator";

/// The label of its exporter's pods (NVIDIA/gpu-operator@v26.7.0 `assets/state-dcgm-exporter/0900_daemonset.yaml`).
const OPERATOR_PODS: (&str, &str) = ("app", "nvidia-dcgm-exporter");

/// A group of pods that Prometheus scrapes.
pub(super) struct ScrapeGroup<'p> {
    /// The name of the PodMonitor.
    pub(super) name: &'static str,
    job: &'static str,
    /// The namespaces of the pods.
    pub(super) namespaces: Vec<String>,
    /// The label of the pods.
    pub(super) pods: (&'static str, &'static str),
    pools: Vec<&'p Pool>,
    pool_source: PoolSource,
    reason: &'static str,
}

/// The name of the metrics port of every exporter.
pub(super) const PORT: &str = "metrics";

/// How the pool of a target is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PoolSource {
    /// By a label of its pod, which gpuc sets.
    PodLabel,
    /// By the labels of its node: a DaemonSet of the GPU Operator runs on several pools.
    NodeLabels,
}

impl ScrapeGroup<'_> {
    fn pod_monitor(&self, cluster: &Checked<'_>) -> Object {
        let mut all = labels();
        all.extend(selection_labels(cluster));
        let object = json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": {"name": self.name, "namespace": NAMESPACE, "labels": all},
            "spec": {
                "namespaceSelector": {"matchNames": self.namespaces},
                "selector": {"matchLabels": {self.pods.0: self.pods.1}},
                "attachMetadata": (self.pool_source == PoolSource::NodeLabels).then(|| json!({"node": true})),
                "podMetricsEndpoints": [{
                    "port": PORT,
                    "path": "/metrics",
                    "interval": "15s",
                    "scrapeTimeout": "10s",
                    "honorLabels": true,
                    "relabelings": self.relabelings(),
                }],
            },
        });
        Object::new(COMPONENT, &object, self.origin(cluster, self.reason))
    }

    /// The configuration that it follows from.
    pub(super) fn origin(&self, cluster: &Checked<'_>, reason: &'static str) -> Origin {
        let monitoring = cluster.config.monitoring.as_ref();
        let pools = self.pools.iter();
        let inputs = pools.flat_map(|pool| [pool.name.span, pool.plugin.span]);
        Origin::rule(inputs.chain(monitoring.map(|it| it.span)), reason)
    }

    /// Contains no `replacement` with `$`, which Flux's substitution would change.
    fn relabelings(&self) -> Vec<Value> {
        let mut relabelings = match self.pool_source {
            PoolSource::PodLabel => {
                vec![json!({"sourceLabels": [POOL_OF_POD], "targetLabel": "pool"})]
            }
            PoolSource::NodeLabels => self
                .pools
                .iter()
                .map(|pool| pool_by_node_labels(pool))
                .collect(),
        };
        relabelings.extend([
            json!({"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}),
            json!({"targetLabel": "job", "replacement": self.job}),
            json!({"action": "labeldrop", "regex": "namespace|pod|container|endpoint"}),
        ]);
        relabelings
    }
}

/// Sets the label `pool` of a target whose node has all labels of the pool's selector.
fn pool_by_node_labels(pool: &Pool) -> Value {
    let labels = pool.selector.iter();
    let sources: Vec<_> = labels.map(|label| node_label(&label.key)).collect();
    let values: Vec<_> = pool
        .selector
        .iter()
        .map(|label| escape_regex(&label.value))
        .collect();
    json!({
        "sourceLabels": sources,
        "regex": values.join(";"),
        "targetLabel": "pool",
        "replacement": pool.name.value,
    })
}

/// Prometheus' name for a label of the target's node.
fn node_label(key: &str) -> String {
    let sanitize = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let key: String = key.chars().map(sanitize).collect();
    format!("__meta_kubernetes_node_label_{key}")
}

/// A label's value as a regular expression: of the characters it may contain, only `.` must be escaped.
fn escape_regex(value: &str) -> String {
    value.replace('.', "\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_labels_match_prometheus() {
        assert_eq!(
            node_label("eks.amazonaws.com/nodegroup"),
            "__meta_kubernetes_node_label_eks_amazonaws_com_nodegroup"
        );
        assert_eq!(
            node_label("gpuc.dev/pool"),
            POOL_OF_POD.replace("_pod_", "_node_")
        );
        assert_eq!(escape_regex("a100.8x"), "a100\\.8x");
    }
}
