//! Claims on a Kubernetes that has none.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, KubernetesVersion};

/// Claims on a Kubernetes that has none.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2110",
        name: "dra-kubernetes-too-old",
        severity: Severity::Error,
        summary: "pods shall claim GPUs on a Kubernetes that does not serve claims",
        explain: "### What it checks

Whether Kubernetes is 1.34 or newer where a pool with GPUs has `allocation: dra`.

### Why it matters

`resource.k8s.io/v1` is served from 1.34 on. Before, there are beta versions of that API, which an
API server serves only when it is told to, and which managed clusters leave off: the driver would
find nowhere to describe its GPUs.

### What to do

Write a newer version, or `allocation: devicePlugin`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.33"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    let first = KubernetesVersion::FIRST_WITH_CLAIMS;
    let Some(pool) = cluster.pools_claimed().next() else {
        return;
    };
    if version.value >= first {
        return;
    }
    let message = format!(
        "Kubernetes {} does not serve the claims of pool `{}`",
        version.value, pool.name
    );
    report
        .draft(&RULE.code, pool.allocation.span, message)
        .here("pods shall claim GPUs here")
        .label(
            version.span,
            format!("`resource.k8s.io/v1` is served from {first} on"),
        )
        .help(format!(
            "write `version: \"{first}\"` or newer, or `allocation: devicePlugin`"
        ))
        .emit();
}
