//! A fractional GPU that EC2 does not report.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{catalog_instance, created_pools, machine_span};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2511",
        name: "fractional-gpu-uncounted",
        severity: Severity::Warning,
        summary: "EC2 reports no GPU for a machine type with a fractional GPU",
        checks: "Whether a pool's machine type has a fraction of a GPU: g6f and gr6f.",
        reason: "EC2 reports no GPU for these machine types, so quotas and tools that query EC2 count none. They also
need NVIDIA's GRID driver, which EKS images do not contain.",
        remedy: "Use a machine type with a full GPU and share it with `sharing`. Or test the pool before you rely on
it, and set `allow: [fractional-gpu-uncounted]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6f.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("g6f.xlarge, nodes: {count: 2", "g6.xlarge, nodes: {count: 2}, sharing: {timeSlicing: {replicas: 4}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Some(instance) = catalog_instance(pool) else {
            continue;
        };
        if instance.machine.gpus.reported == Some(0) {
            let name = instance.machine.name;
            report
                .diagnostic(
                    &RULE.code,
                    machine_span(pool),
                    format!("EC2 reports no GPU for `{name}`"),
                )
                .primary_label("has a fraction of a GPU, which needs the GRID driver")
                .help("use a machine type with a full GPU and share it with `sharing`")
                .emit();
        }
    }
}
