//! `allocation: dra` requires a newer Kubernetes version.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, KubernetesVersion};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2110",
        name: "dra-kubernetes-too-old",
        severity: Severity::Error,
        summary: "`allocation: dra` requires a newer Kubernetes version",
        checks: "Whether Kubernetes is 1.34 or newer if a pool with GPUs has `allocation: dra`.",
        reason: "The API server serves `resource.k8s.io/v1` since Kubernetes 1.34. Earlier versions have beta
versions of this API, which are off by default and which managed clusters do not enable. The DRA
driver could not publish its GPUs.",
        remedy: "Write a newer version, or `allocation: devicePlugin`.",
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
        correction: Correction::Replace(r#"version: "1.33""#, r#"version: "1.36""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    let first = KubernetesVersion::FIRST_WITH_DRA;
    let Some(pool) = cluster.dra_pools().next() else {
        return;
    };
    if version.value >= first {
        return;
    }
    let message = format!(
        "Kubernetes {} does not support `allocation: dra` of pool `{}`",
        version.value, pool.name
    );
    report
        .diagnostic(&RULE.code, pool.allocation.span, message)
        .primary_label("set here")
        .label(
            version.span,
            format!("`resource.k8s.io/v1` is available since {first}"),
        )
        .help(format!(
            "write `version: \"{first}\"` or newer, or `allocation: devicePlugin` in the `stack`"
        ))
        .emit();
}
