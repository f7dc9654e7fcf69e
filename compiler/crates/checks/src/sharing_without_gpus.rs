//! `sharing` is set on a pool without GPUs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::has_sharing_setting;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2020",
        name: "sharing-without-gpus",
        severity: Severity::Error,
        summary: "`sharing` is set on a pool without GPUs",
        checks: "Whether a pool with `sharing` has GPUs.",
        reason: "The key has no effect. Usually the machine type is not the intended one.",
        remedy: "Correct the machine type, or remove `sharing`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
  - name: system
    machine: m7i.xlarge
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4}}
"#,
        correction: Correction::Replace(
            "    sharing: {timeSlicing: {replicas: 4}}
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if !has_sharing_setting(cluster.pool_in_file(pool))
            || !matches!(pool.gpus.get(), Some(None))
        {
            continue;
        }
        let message = format!("pool `{}` has no GPUs to share", pool.name);
        let builder = report.diagnostic(&RULE.code, pool.sharing_span, message);
        let builder = match &pool.machine_name {
            Some(machine) => builder.label(machine.span, "this machine type has no GPUs"),
            None => builder,
        };
        builder
            .help("remove `sharing`, or choose a machine type with GPUs")
            .emit();
    }
}
