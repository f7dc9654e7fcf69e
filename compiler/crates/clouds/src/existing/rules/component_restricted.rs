//! Component that the admission of the provider rejects.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::provider_facts;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2825",
        name: "component-restricted",
        severity: Severity::Error,
        summary: "OpenShift rejects the pods of a component",
        checks: r"Whether a cluster with the provider `openshift` has `monitoring`, `notebooks`, the chart
`node-feature-discovery`, or `computeDomains`.",
        reason: r"The pods of these components run as root, with a fixed user, or with folders of the host. OpenShift
admits such pods only with SecurityContextConstraints, which gpuc does not write. OpenShift has operators for the same
tasks.",
        remedy: r"Remove the key. OpenShift's monitoring, its GPU Operator and OpenShift AI provide metrics and
notebooks. Queues, teams and workloads are not restricted.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: openshift}}
nodePools:
  - name: gpu
    gpu: {model: H100, perNode: 8}
    nodes: {count: 1}
    existing: {selector: {gpuc.dev/pool: gpu}}
charts: {node-feature-discovery: {}}
"#,
        correction: Correction::Replace(
            "charts: {node-feature-discovery: {}}
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let provider = provider_facts(cluster);
    if !provider.restricts_components {
        return;
    }
    for (key, span) in restricted_keys(cluster) {
        report
            .diagnostic(
                &RULE.code,
                span,
                format!("`{key}` is not supported on {}", provider.facts.name),
            )
            .label(
                super::super::section(cluster).provider.span,
                "it admits privileged pods only with SecurityContextConstraints",
            )
            .help(format!("remove `{key}`"))
            .emit();
    }
}

/// The keys of restricted components that are set.
fn restricted_keys(cluster: &Cluster) -> Vec<(&'static str, Span)> {
    let config = &cluster.config;
    let charts = &config.charts;
    let discovery = charts.node_feature_discovery.as_ref();
    let pools = cluster.pools.iter();
    let domains = pools.filter_map(|pool| pool.settings.network.compute_domains.as_ref());
    [
        ("monitoring", config.monitoring.as_ref().map(|it| it.span)),
        ("notebooks", config.notebooks.as_ref().map(|it| it.span)),
        ("charts.node-feature-discovery", discovery.map(|it| it.span)),
    ]
    .into_iter()
    .filter_map(|(key, span)| Some((key, span?)))
    .chain(domains.map(|it| ("network.computeDomains", it.span)))
    .collect()
}
