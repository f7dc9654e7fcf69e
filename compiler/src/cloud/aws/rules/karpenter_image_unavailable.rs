//! A node image that Karpenter does not bring up.

use super::super::node_group::family_name;
use super::karpenter;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A node image that Karpenter does not bring up.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2545",
        name: "karpenter-image-unavailable",
        severity: Severity::Error,
        summary: "Karpenter has no such node image",
        explain: "### What it checks

Whether a pool of Karpenter's has Amazon Linux 2023 or Bottlerocket.

### Why it matters

Karpenter finds the images of EKS by themselves, the right one for the Kubernetes version, the
machine and its GPUs, and knows how such a node joins the cluster. Of other images it knows
nothing: the node would start and never join. Images of Amazon Linux 2 are no longer made.

### What to do

Take one of the two, or write a `count`: a pool with a fixed number of nodes is a managed node group,
which eksctl makes of every image that it knows.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: batch, machine: m7i.large, nodes: {min: 0, max: 4}, os: {family: Ubuntu2404}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: batch, machine: m7i.large, nodes: {min: 0, max: 4}, os: {family: AmazonLinux2023}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::pools(cluster) {
        if karpenter::image(pool.os.value).is_some() {
            continue;
        }
        let family = family_name(pool.os.value);
        let message = format!("Karpenter brings up no node with `{family}`");
        let range = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        report
            .draft(&RULE.code, pool.os.span, message)
            .label(
                range,
                "without a fixed number of nodes the pool is Karpenter's",
            )
            .help("write `AmazonLinux2023` or `Bottlerocket`, or a `count` of nodes")
            .emit();
    }
}
