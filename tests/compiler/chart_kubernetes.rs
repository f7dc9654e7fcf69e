//! Findings about charts whose projects do not support the cluster's Kubernetes version.

use gpuc_compile::charts::CHARTS;
use gpuc_model::SUPPORTED;

use crate::support::compile_text;

const CODE: &str = "chart-kubernetes-unsupported";

/// Messages of the finding for an EKS cluster with an autoscaler.
fn messages(version: &str, autoscaler: &str, charts: &str) -> Vec<String> {
    let file = format!(
        r#"{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, kubernetes: {{version: "{version}"}},
        cloud: {{aws: {{account: "123456789012", region: us-east-1, cluster: {{create: {{}}}}}}}}, autoscaler: {autoscaler},
        stack: {{runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}}, charts: {charts},
        nodePools: [{{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}},
        {{name: gpu, machine: g6.xlarge, nodes: {{min: 0, max: 2}}}}]}}"#
    );
    let outcome = compile_text(&file);
    let findings = outcome.findings.iter();
    let named = findings.filter(|finding| finding.code.name == CODE);
    named.map(|finding| finding.message.clone()).collect()
}

#[test]
fn installed_chart_without_support_is_named_with_its_versions() {
    let karpenter = ["chart `karpenter` 1.14.1 supports Kubernetes 1.30 to 1.36, not 1.37"];
    assert_eq!(messages("1.37", "karpenter", "{kueue: {}}"), karpenter);
    let autoscaler =
        ["chart `cluster-autoscaler` 9.59.0 supports Kubernetes 1.33 to 1.36, not 1.37"];
    assert_eq!(messages("1.37", "clusterAutoscaler", "{}"), autoscaler);
    assert!(messages("1.36", "clusterAutoscaler", "{}").is_empty());
    assert!(messages("1.37", "none", "{}").is_empty());
}

#[test]
fn chart_with_the_users_image_is_not_judged() {
    let tag = |tag: &str| format!("{{cluster-autoscaler: {{values: {tag}}}}}");
    let own_image = tag("{image: {tag: v1.37.0}}");
    assert!(messages("1.37", "clusterAutoscaler", &own_image).is_empty());
    let other_value = tag("{image: {pullPolicy: Always}}");
    assert_eq!(messages("1.37", "clusterAutoscaler", &other_value).len(), 1);
}

#[test]
fn statement_of_a_project_has_a_source_and_an_order() {
    for chart in CHARTS {
        let Some(support) = chart.kubernetes else {
            continue;
        };
        assert!(support.source.contains("20"), "{}: no date", chart.name);
        assert!(support.newest.is_none_or(|newest| support.oldest <= newest));
        assert!(SUPPORTED.contains(&support.closest(*SUPPORTED.start())));
    }
}
