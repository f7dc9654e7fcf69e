//! What Prometheus scrapes: one PodMonitor for each exporter, which gives every target the labels that rules count on.
//!
//! `pool` and `node` say where a target is. What Prometheus would add of the target's own pod, `namespace`, `pod` and
//! `container`, is taken away: on a GPU's metric they name the pod that holds the GPU, or are not there. `honorLabels`
//! keeps them under these names; without it they would arrive as `exported_pod`, and `pod` would be the exporter's
//! (NVIDIA/dcgm-exporter#85). PodMonitors are used for dcgm-exporter too, instead of the ServiceMonitor that its chart
//! can make: the chart needs nothing of the Prometheus Operator then, and may be installed before it.

use serde_json::{Value, json};

use super::exporter::{DCGM_JOB, Measures, RUNTIME_JOB, measures};
use super::{COMPONENT, NAMESPACE, labels, picked_by};
use crate::chart::dcgm_exporter;
use crate::check::Checked;
use crate::lower::{POD_NAME_LABEL, RUNTIME_NAME, RUNTIME_NAMESPACE};
use crate::model::Pool;
use crate::node::Origin;
use crate::plan::Object;
use gpuc_schema::config::DevicePlugin;

/// Prometheus' name for the label `gpuc.dev/pool` of a target's pod.
const POOL_OF_POD: &str = "__meta_kubernetes_pod_label_gpuc_dev_pool";

/// The monitors.
pub(super) fn monitors(cluster: &Checked<'_>) -> Vec<Object> {
    let scraped = scraped(cluster);
    scraped.iter().map(|it| it.monitor(cluster)).collect()
}

/// Everything that is scraped.
pub(super) fn scraped<'p>(cluster: &'p Checked<'_>) -> Vec<Scraped<'p>> {
    let measured_by = |who: Measures| -> Vec<_> {
        let pools = cluster.pools.iter();
        let measured = pools.filter(|pool| measures(cluster, pool) == Some(who));
        measured.collect()
    };
    let by_dcgm = measured_by(Measures::Dcgm);
    let namespaces = by_dcgm.iter().map(|pool| dcgm_exporter::namespace(pool));
    let of_pools = Scraped {
        name: DCGM_JOB,
        job: DCGM_JOB,
        namespaces: namespaces.collect(),
        pods: (POD_NAME_LABEL, dcgm_exporter::POD_NAME),
        pools: by_dcgm,
        pools_by: PoolsBy::PodLabel,
        why: "dcgm-exporter measures the GPUs of these pools",
    };
    let of_operator = Scraped {
        name: "dcgm-exporter-of-operator",
        job: DCGM_JOB,
        namespaces: vec![OPERATOR_NAMESPACE.to_owned()],
        pods: OPERATOR_PODS,
        pools: measured_by(Measures::Operator),
        pools_by: PoolsBy::NodeLabels,
        why: "the GPU Operator's dcgm-exporter measures the GPUs of these pools",
    };
    let of_runtime = Scraped {
        name: RUNTIME_JOB,
        job: RUNTIME_JOB,
        namespaces: vec![RUNTIME_NAMESPACE.to_owned()],
        pods: (POD_NAME_LABEL, RUNTIME_NAME),
        pools: cluster.pools_advertised_by(DevicePlugin::Gpuc).collect(),
        pools_by: PoolsBy::PodLabel,
        why: "gpuc-runtime serves these pools and tells how it fares",
    };
    let all = [of_pools, of_operator, of_runtime];
    all.into_iter().filter(|it| !it.pools.is_empty()).collect()
}

/// Where the GPU Operator runs what it brings.
const OPERATOR_NAMESPACE: &str = "gpu-operator";

/// The label of its exporter's pods (NVIDIA/gpu-operator@v26.7.0 `assets/state-dcgm-exporter/0900_daemonset.yaml`).
const OPERATOR_PODS: (&str, &str) = ("app", "nvidia-dcgm-exporter");

/// Something that is scraped.
pub(super) struct Scraped<'p> {
    /// The name of its monitor.
    pub(super) name: &'static str,
    job: &'static str,
    /// Where its pods run.
    pub(super) namespaces: Vec<String>,
    /// The label of its pods.
    pub(super) pods: (&'static str, &'static str),
    pools: Vec<&'p Pool>,
    pools_by: PoolsBy,
    why: &'static str,
}

/// The name of the port with metrics, of every one of them.
pub(super) const PORT: &str = "metrics";

/// How a target's pool is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PoolsBy {
    /// By a label of its pod, which this tree puts there.
    PodLabel,
    /// By the labels of its node: one DaemonSet of somebody else's runs on several pools.
    NodeLabels,
}

impl Scraped<'_> {
    fn monitor(&self, cluster: &Checked<'_>) -> Object {
        let mut all = labels();
        all.extend(picked_by(cluster));
        let object = json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": {"name": self.name, "namespace": NAMESPACE, "labels": all},
            "spec": {
                "namespaceSelector": {"matchNames": self.namespaces},
                "selector": {"matchLabels": {self.pods.0: self.pods.1}},
                "attachMetadata": (self.pools_by == PoolsBy::NodeLabels).then(|| json!({"node": true})),
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
        Object::new(COMPONENT, &object, self.origin(cluster, self.why))
    }

    /// Where it was asked for.
    pub(super) fn origin(&self, cluster: &Checked<'_>, why: &'static str) -> Origin {
        let monitoring = cluster.written.monitoring.as_ref();
        let pools = self.pools.iter();
        let inputs = pools.flat_map(|pool| [pool.name.span, pool.plugin.span]);
        Origin::rule(inputs.chain(monitoring.map(|it| it.span)), why)
    }

    /// Without a `replacement` that holds `$`, which Flux's substitution would have to be kept from.
    fn relabelings(&self) -> Vec<Value> {
        let mut relabelings = match self.pools_by {
            PoolsBy::PodLabel => {
                vec![json!({"sourceLabels": [POOL_OF_POD], "targetLabel": "pool"})]
            }
            PoolsBy::NodeLabels => self.pools.iter().map(|pool| by_node(pool)).collect(),
        };
        relabelings.extend([
            json!({"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}),
            json!({"targetLabel": "job", "replacement": self.job}),
            json!({"action": "labeldrop", "regex": "namespace|pod|container|endpoint"}),
        ]);
        relabelings
    }
}

/// Names the pool of a target whose node has all labels of the pool's selector.
fn by_node(pool: &Pool) -> Value {
    let labels = pool.selector.iter();
    let sources: Vec<_> = labels.map(|label| node_label(&label.key)).collect();
    let values: Vec<_> = pool
        .selector
        .iter()
        .map(|label| escaped(&label.value))
        .collect();
    json!({
        "sourceLabels": sources,
        "regex": values.join(";"),
        "targetLabel": "pool",
        "replacement": pool.name.value,
    })
}

/// Prometheus' name for a label of a target's node.
fn node_label(key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let key: String = key.chars().map(plain).collect();
    format!("__meta_kubernetes_node_label_{key}")
}

/// A label's value as a regular expression for itself: of what it may hold, only `.` means something else there.
fn escaped(value: &str) -> String {
    value.replace('.', "\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_written_as_prometheus_does() {
        assert_eq!(
            node_label("eks.amazonaws.com/nodegroup"),
            "__meta_kubernetes_node_label_eks_amazonaws_com_nodegroup"
        );
        assert_eq!(
            node_label("gpuc.dev/pool"),
            POOL_OF_POD.replace("_pod_", "_node_")
        );
        assert_eq!(escaped("a100.8x"), "a100\\.8x");
    }
}
