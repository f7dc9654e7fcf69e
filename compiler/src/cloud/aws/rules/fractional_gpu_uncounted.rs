//! A part of a GPU that EC2 does not count.

use super::{instance, machine_span, made_pools};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A part of a GPU that EC2 does not count.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2511",
        name: "fractional-gpu-uncounted",
        severity: Severity::Warning,
        summary: "EC2 reports no GPU for a machine with a part of one",
        explain: "### What it checks

Whether a pool's machine has a part of a GPU: g6f and gr6f.

### Why it matters

EC2 reports no GPU for these machines, so quotas and tools that ask EC2 count none. They also
need NVIDIA's GRID driver, which EKS's images do not have.

### What to do

Try the pool before you rely on it, and write `allow: [fractional-gpu-uncounted]`; or take a
machine with a whole GPU and share it with `sharing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6f.xlarge, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 2}, sharing: {timeSlicing: {replicas: 4}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Some(instance) = instance(pool) else {
            continue;
        };
        if instance.machine.gpus.reported == Some(0) {
            let name = instance.machine.name;
            report
                .draft(
                    &RULE.code,
                    machine_span(pool),
                    format!("EC2 reports no GPU for `{name}`"),
                )
                .here("a part of a card, which needs the GRID driver")
                .help("take a machine with a whole GPU and share it with `sharing`")
                .emit();
        }
    }
}
