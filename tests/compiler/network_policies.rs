//! Only Prometheus can reach the exporters, if the tree contains Prometheus.

use std::collections::BTreeSet;

use gpuc_model::plan::Plan;
use serde_json::Value;

use crate::corpus::cases;

/// Whether a selector, which has only `matchLabels`, selects pods with these labels.
fn selects(selector: &Value, labels: &Value) -> bool {
    let expected = selector["matchLabels"].as_object().unwrap();
    !expected.is_empty() && expected.iter().all(|(key, value)| labels[key] == *value)
}

/// The exporters' pods, each with its namespace and labels. gpuc's own pods have the labels in their manifests. The
/// charts' pods have the labels of NVIDIA/dcgm-exporter@4.5.3-4.8.2 `deployment/templates/_helpers.tpl` and
/// NVIDIA/gpu-operator@v26.7.0 `assets/state-dcgm-exporter/0900_daemonset.yaml`.
fn exporter_pods(plan: &Plan) -> Vec<(String, Value)> {
    let objects = plan.objects.iter();
    let daemon_sets = objects.filter(|it| it.identity.kind == "DaemonSet");
    let mut pods: Vec<_> = daemon_sets
        .filter_map(|object| {
            let value = serde_json::to_value(&object.node).unwrap();
            let template = &value["spec"]["template"];
            let containers = template["spec"]["containers"].as_array().unwrap().iter();
            let mut ports = containers.filter_map(|it| it["ports"].as_array()).flatten();
            let namespace = object.identity.namespace.clone().unwrap();
            let exports = ports.any(|port| port["name"] == "metrics");
            // Network policies do not apply to pods in the host network.
            assert!(!exports || template["spec"]["hostNetwork"] != true);
            exports.then(|| (namespace, template["metadata"]["labels"].clone()))
        })
        .collect();
    for release in &plan.releases {
        let values = serde_json::to_value(&release.values).unwrap();
        match release.chart.name {
            "dcgm-exporter" => {
                let mut labels = values["podLabels"].clone();
                labels["app.kubernetes.io/name"] = "dcgm-exporter".into();
                pods.push((release.namespace.clone(), labels));
            }
            "gpu-operator" if values["dcgmExporter"]["enabled"] == true => {
                let labels = serde_json::json!({"app": "nvidia-dcgm-exporter"});
                pods.push((release.namespace.clone(), labels));
            }
            _ => {}
        }
    }
    pods
}

#[test]
fn only_prometheus_can_reach_exporters() {
    let mut reached = BTreeSet::new();
    for case in cases() {
        let plan = case.plan();
        let of_kind = |kind: &'static str| {
            let objects = plan.objects.iter();
            let objects = objects.filter(move |it| it.identity.kind == kind);
            objects.map(|it| serde_json::to_value(&it.node).unwrap())
        };
        // The policies of teams select only the teams' pods.
        let of_team = |policy: &Value| policy["metadata"]["labels"].get("gpuc.dev/team").is_some();
        let policies = of_kind("NetworkPolicy").filter(|it| !of_team(it));
        let policies: Vec<_> = policies.collect();
        let is_monitored = of_kind("PodMonitor").next().is_some();
        let mut idle = policies.clone();
        for (namespace, labels) in exporter_pods(plan) {
            let mut reaching = policies.iter().filter(|policy| {
                policy["metadata"]["namespace"] == namespace.as_str()
                    && selects(&policy["spec"]["podSelector"], &labels)
            });
            let policy = reaching.next();
            // gpuc-runtime always serves metrics.
            let is_served = is_monitored || labels["app.kubernetes.io/name"] == "gpuc-runtime";
            assert_eq!(
                policy.is_some(),
                is_served,
                "{}: {namespace} {labels}",
                case.name
            );
            assert_eq!(reaching.next(), None, "{}: {namespace}", case.name);
            let Some(policy) = policy else { continue };
            idle.retain(|it| it != policy);
            let spec = &policy["spec"];
            assert_eq!(spec["policyTypes"], serde_json::json!(["Ingress"]));
            let rules = spec["ingress"].as_array().unwrap();
            assert_eq!(rules.len(), 1);
            assert_eq!(rules[0]["ports"][0]["port"], "metrics");
            let from = rules[0]["from"].as_array().unwrap();
            assert_eq!(from.len(), 1);
            let prometheus = serde_json::json!({"app.kubernetes.io/name": "prometheus"});
            assert!(selects(&from[0]["podSelector"], &prometheus));
            let mut releases = plan.releases.iter();
            let prometheus = releases.find(|it| it.chart.name == "kube-prometheus-stack");
            let expected = match prometheus {
                Some(it) => serde_json::json!({
                    "matchLabels": {"kubernetes.io/metadata.name": it.namespace}
                }),
                // A pod in a team's namespace cannot pass as Prometheus by setting a label.
                None => serde_json::json!({
                    "matchExpressions": [{"key": "gpuc.dev/team", "operator": "DoesNotExist"}]
                }),
            };
            assert_eq!(from[0]["namespaceSelector"], expected, "{}", case.name);
            reached.insert((namespace, prometheus.is_some()));
        }
        assert_eq!(
            idle,
            Vec::<Value>::new(),
            "{}: no pod is selected",
            case.name
        );
    }
    // The corpus covers each of the three exporters and both installations of Prometheus.
    for prefix in ["dcgm-exporter-", "gpu-operator", "gpuc-system"] {
        let mut reached = reached.iter();
        assert!(reached.any(|(it, _)| it.starts_with(prefix)), "{prefix}");
    }
    let installed: BTreeSet<_> = reached.iter().map(|(_, installed)| *installed).collect();
    assert_eq!(installed.len(), 2);
}
