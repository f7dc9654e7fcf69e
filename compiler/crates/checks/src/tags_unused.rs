//! Tags are set but gpuc creates no cloud resources.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2053",
        name: "tags-unused",
        severity: Severity::Error,
        summary: "tags are set but gpuc creates no cloud resources",
        checks: r"Whether gpuc creates the cluster or any pool if the cloud section has `tags` or `resourceLabels`.",
        reason: r"The tags apply to the resources that gpuc creates. If the cluster and all pools already exist, the
key has no effect.",
        remedy: r"Remove the key, and tag the existing resources by other means.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}, tags: {team: research}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
"#,
        correction: Correction::Replace(", tags: {team: research}", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let section = &cluster.config.cloud;
    let Some((key, tags)) = section.tags() else {
        return;
    };
    let creates_nothing =
        !section.creates_cluster() && cluster.pools.iter().all(|pool| pool.is_existing());
    let Some(first) = tags.keys().next().filter(|_| creates_nothing) else {
        return;
    };
    let message = format!("`{key}` has no effect: gpuc creates neither the cluster nor a pool");
    report
        .diagnostic(&RULE.code, first.span, message)
        .help(format!("remove `{key}`"))
        .emit();
}
