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
    let measured: Vec<_> = (cluster.pools.iter())
        .filter(|pool| measures(cluster, pool) == Some(Measures::Dcgm))
        .collect();
    let runtime: Vec<_> = cluster.pools_advertised_by(DevicePlugin::Gpuc).collect();
    let mut monitors = Vec::new();
    if !measured.is_empty() {
        let namespaces = measured.iter().map(|pool| dcgm_exporter::namespace(pool));
        let scraped = Scraped {
            job: DCGM_JOB,
            namespaces: namespaces.collect(),
            pods: dcgm_exporter::POD_NAME,
            why: "dcgm-exporter measures the GPUs of these pools",
        };
        monitors.push(scraped.monitor(cluster, &measured));
    }
    if !runtime.is_empty() {
        let scraped = Scraped {
            job: RUNTIME_JOB,
            namespaces: vec![RUNTIME_NAMESPACE.to_owned()],
            pods: RUNTIME_NAME,
            why: "gpuc-runtime serves these pools and tells how it fares",
        };
        monitors.push(scraped.monitor(cluster, &runtime));
    }
    monitors
}

struct Scraped {
    job: &'static str,
    namespaces: Vec<String>,
    pods: &'static str,
    why: &'static str,
}

impl Scraped {
    fn monitor(&self, cluster: &Checked<'_>, pools: &[&Pool]) -> Object {
        let mut all = labels();
        all.extend(picked_by(cluster));
        let object = json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": {"name": self.job, "namespace": NAMESPACE, "labels": all},
            "spec": {
                "namespaceSelector": {"matchNames": self.namespaces},
                "selector": {"matchLabels": {POD_NAME_LABEL: self.pods}},
                "podMetricsEndpoints": [{
                    "port": "metrics",
                    "path": "/metrics",
                    "interval": "15s",
                    "scrapeTimeout": "10s",
                    "honorLabels": true,
                    "relabelings": self.relabelings(),
                }],
            },
        });
        let monitoring = cluster.written.monitoring.as_ref();
        let pools = pools.iter();
        let inputs = pools.flat_map(|pool| [pool.name.span, pool.plugin.span]);
        let inputs = inputs.chain(monitoring.map(|it| it.span));
        Object::new(COMPONENT, &object, Origin::rule(inputs, self.why))
    }

    /// Without a `replacement` that holds `$`, which Flux's substitution would have to be kept from.
    fn relabelings(&self) -> Value {
        json!([
            {"sourceLabels": [POOL_OF_POD], "targetLabel": "pool"},
            {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"},
            {"targetLabel": "job", "replacement": self.job},
            {"action": "labeldrop", "regex": "namespace|pod|container|endpoint"},
        ])
    }
}
