//! A value that points the Cluster Autoscaler at another cluster.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Fragment;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{autoscaler, cluster_name, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2550",
        name: "eks-autoscaler-target-mismatch",
        severity: Severity::Error,
        summary: "a value points the Cluster Autoscaler at another cluster, region or cloud",
        checks: "Whether `awsRegion`, `cloudProvider` and `autoDiscovery.clusterName`, if they are set in the values of
the chart `cluster-autoscaler`, match the cluster.",
        reason: "These values override gpuc's values. With another region or name, the autoscaler finds no node group
of this cluster and pods stay pending; or it finds the node groups of another cluster.",
        remedy: "Remove the value: gpuc sets it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
autoscaler: clusterAutoscaler
charts: {cluster-autoscaler: {values: {awsRegion: eu-west-1}}}
nodePools:
  - {name: system, machine: m7i.large, nodes: {min: 1, max: 3}}
"#,
        correction: Correction::Replace("awsRegion: eu-west-1", "replicaCount: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let values = cluster.config.charts.get("cluster-autoscaler");
    let Some(values) = values.filter(|_| autoscaler::install_span(cluster).is_some()) else {
        return;
    };
    let region = &section(&cluster.config).region;
    let name = cluster_name(&cluster.config);
    let expected_values = [
        (&["awsRegion"][..], region.as_str(), region.span),
        (
            &["autoDiscovery", "clusterName"][..],
            name.as_str(),
            name.span,
        ),
        (
            &["cloudProvider"][..],
            "aws",
            section(&cluster.config).cluster.span,
        ),
    ];
    for (path, expected, span) in expected_values {
        let Some(written) = values.values.value.get_path(path) else {
            continue;
        };
        if written.value == Fragment::Text(expected.to_owned()) {
            continue;
        }
        let message = format!("`{}` must be `{expected}` for this cluster", path.join("."));
        report
            .diagnostic(&RULE.code, written.span, message)
            .label(span, "the autoscaler manages this cluster")
            .help("remove the value: gpuc sets it")
            .emit();
    }
}
