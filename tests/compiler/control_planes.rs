//! Prometheus monitors the components of a control plane only where it can reach them.

use serde_json::{Value, json};

use crate::support::compile_text;

/// The values of kube-prometheus-stack on a cloud.
fn prometheus_values(cloud: &str, machine: &str, more: &str) -> Value {
    let outcome = compile_text(&format!(
        "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: '1.36'}}
cloud: {{{cloud}}}
nodePools: [{{name: system, {machine}, nodes: {{count: 2}}}}]
monitoring: {{prometheus: {{install: {{}}}}}}
{more}
"
    ));
    let plan = outcome.compilations[0].plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
    let mut releases = plan.releases.iter();
    let stack = releases.find(|release| release.name == "kube-prometheus-stack");
    serde_json::to_value(&stack.unwrap().values).unwrap()
}

const CONTROL_PLANE: [&str; 4] = [
    "kubeControllerManager",
    "kubeEtcd",
    "kubeProxy",
    "kubeScheduler",
];

const CLUSTERS: [(&str, &str); 3] = [
    (
        "aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}",
        "machine: m7i.xlarge",
    ),
    (
        "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}",
        "machine: e2-standard-4",
    ),
    (
        "azure: {subscription: 00000000-0000-0000-0000-000000000000, resourceGroup: ml, location: eastus, cluster: {create: {}}}",
        "machine: Standard_D4s_v5",
    ),
];

#[test]
fn managed_control_planes_are_not_scraped() {
    for (cloud, machine) in CLUSTERS {
        let values = prometheus_values(cloud, machine, "");
        for component in CONTROL_PLANE {
            assert_eq!(
                values[component],
                json!({"enabled": false}),
                "{cloud}: {component}"
            );
        }
    }
}

#[test]
fn control_planes_on_premises_are_scraped_by_default() {
    let values = prometheus_values("onPrem: {context: demo}", "hosts: [a, b]", "");
    for component in CONTROL_PLANE {
        assert_eq!(values[component], Value::Null, "{component}");
    }
}

#[test]
fn user_values_decide_which_control_plane_is_scraped() {
    let own = |enabled: bool| {
        format!(
            "charts: {{kube-prometheus-stack: {{values: {{kubeEtcd: {{enabled: {enabled}}}}}}}}}"
        )
    };
    let (cloud, machine) = CLUSTERS[0];
    assert_eq!(
        prometheus_values(cloud, machine, &own(true))["kubeEtcd"]["enabled"],
        true
    );
    let values = prometheus_values("onPrem: {context: demo}", "hosts: [a, b]", &own(false));
    assert_eq!(values["kubeEtcd"]["enabled"], false);
}
