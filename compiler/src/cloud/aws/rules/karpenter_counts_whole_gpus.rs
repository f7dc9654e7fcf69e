//! Shared GPUs that Karpenter takes for whole ones.

use super::karpenter;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The resource of a whole GPU.
const GPU: &str = "nvidia.com/gpu";

/// Shared GPUs that Karpenter takes for whole ones.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2548",
        name: "karpenter-counts-whole-gpus",
        severity: Severity::Warning,
        summary: "Karpenter makes more nodes than shared GPUs need",
        explain: "### What it checks

Whether a node of a pool of Karpenter's offers as many `nvidia.com/gpu` as its machine has GPUs.

### Why it matters

Karpenter decides by machine types, and EC2 says of a machine only how many whole GPUs it has. Four
pods that would share one GPU get four machines; those that stay empty go after ten minutes. A pod
that asks for more at once than the machine has GPUs never gets a node.

### What to do

Nothing, if some machines too many for a while are acceptable: allow it,
`allow: [karpenter-counts-whole-gpus]`. Otherwise write a `count` of nodes, or take the Cluster
Autoscaler, which is told on EKS what a node will offer.
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
  - {name: gpu, machine: g6.xlarge, nodes: {min: 0, max: 4}, sharing: {timeSlicing: {replicas: 4}}}
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
  - {name: gpu, machine: g6.xlarge, nodes: {count: 4}, sharing: {timeSlicing: {replicas: 4}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::pools(cluster) {
        let (Some(Some(gpus)), Some(offers)) = (pool.gpus.get(), pool.offers.get()) else {
            continue;
        };
        // What is called otherwise has an error of its own.
        let [offer] = offers.as_slice() else {
            continue;
        };
        // Of what is not counted at all no node is made, which has an error of its own too.
        let uncounted = karpenter::uncounted(pool).is_some();
        if uncounted || offer.resource != GPU || offer.per_node == gpus.reported {
            continue;
        }
        let message = format!(
            "Karpenter makes more nodes of pool `{}` than it needs",
            pool.name
        );
        let here = format!(
            "it takes a node's {} `{GPU}` for {} until there is one",
            offer.per_node, gpus.reported
        );
        report
            .draft(&RULE.code, pool.written.sharing.span, message)
            .here(here)
            .label(gpus.chosen, "the machine")
            .help("write a `count` of nodes, or `autoscaler: clusterAutoscaler`")
            .emit();
    }
}
