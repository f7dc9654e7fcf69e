//! A node image that Karpenter does not support.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::node_group::family_name;
use super::karpenter;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2545",
        name: "karpenter-image-unavailable",
        severity: Severity::Error,
        summary: "Karpenter does not support a node image",
        checks: "Whether a pool that Karpenter provisions uses Amazon Linux 2023 or Bottlerocket.",
        reason: "Karpenter selects the EKS image for the Kubernetes version, the machine type and its GPUs, and knows
how such a node joins the cluster. A node with another image starts but never joins. AWS no longer
publishes images of Amazon Linux 2.",
        remedy: "Use one of the two, or set a `count`: a pool with a fixed number of nodes is a managed node group,
which eksctl creates with every image that it supports.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: batch, machine: m7i.large, nodes: {min: 0, max: 4}, os: {family: Ubuntu2404}}
"#,
        correction: Correction::Replace("Ubuntu2404", "AmazonLinux2023"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::provisioned_pools(cluster) {
        if karpenter::ami_family(pool.os.value).is_some() {
            continue;
        }
        let family = family_name(pool.os.value);
        let message = format!("Karpenter does not support the node image `{family}`");
        let range = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        report
            .diagnostic(&RULE.code, pool.os.span, message)
            .label(
                range,
                "without a fixed number of nodes, Karpenter provisions the pool",
            )
            .help("use `AmazonLinux2023` or `Bottlerocket`, or set a `count` of nodes")
            .emit();
    }
}
