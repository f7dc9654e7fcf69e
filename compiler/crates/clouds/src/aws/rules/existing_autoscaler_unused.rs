//! `hasAutoscaler` without `autoscaler: clusterAutoscaler`.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Autoscaler, AwsCluster};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2542",
        name: "existing-autoscaler-unused",
        severity: Severity::Error,
        summary: "`hasAutoscaler` is set, but the file does not use the autoscaler",
        checks: "Whether `autoscaler` is `clusterAutoscaler` if `hasAutoscaler` is true.",
        reason:
            "`hasAutoscaler` only stops gpuc from installing a second Cluster Autoscaler. Without
`autoscaler: clusterAutoscaler`, pools do not get the tags and labels with which it recognizes
their nodes. An existing Karpenter is not supported yet: gpuc does not know its instance profile.",
        remedy: "Write `autoscaler: clusterAutoscaler`, or remove `hasAutoscaler`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {vpc: {id: vpc-0123456789abcdef0, securityGroup: sg-0123456789abcdef0, privateSubnets: [{zone: us-east-1a, id: subnet-0123456789abcdef0}]}, hasAutoscaler: true}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            "kubernetes:",
            "autoscaler: clusterAutoscaler
kubernetes:",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let AwsCluster::Existing(existing) = &section(&cluster.config).cluster.value else {
        return;
    };
    let is_used = cluster.autoscaler.value == Autoscaler::ClusterAutoscaler;
    if existing.has_autoscaler.value && !is_used {
        report
            .diagnostic(
                &RULE.code,
                existing.has_autoscaler.span,
                "`hasAutoscaler` requires `autoscaler: clusterAutoscaler`",
            )
            .label(cluster.autoscaler.span, "the autoscaler is set here")
            .help("write `autoscaler: clusterAutoscaler`, or remove `hasAutoscaler`")
            .emit();
    }
}
