//! `admission` is set, but no pool has GPUs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2210",
        name: "guard-without-gpus",
        severity: Severity::Error,
        summary: "`admission` is set, but no pool has GPUs",
        checks: "Whether a cluster with `admission` has a pool with GPUs.",
        reason: "The policies compare the requests of pods with the resources that the pools advertise. If no pool
has GPUs, they would reject every pod that requests one.",
        remedy: "Remove `admission`, or add a pool with GPUs.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
admission: {guard: enforce}
"#,
        correction: Correction::Replace("admission:", "  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
admission:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.config.admission else {
        return;
    };
    let mut pools = cluster.pools.iter();
    if pools.any(|pool| pool.gpus.is_unresolved() || pool.has_gpus()) {
        return;
    }
    let message = "`admission` has no effect: no pool has GPUs";
    report
        .diagnostic(&RULE.code, admission.span, message.to_owned())
        .help("remove `admission`, or add a pool with GPUs")
        .emit();
}
