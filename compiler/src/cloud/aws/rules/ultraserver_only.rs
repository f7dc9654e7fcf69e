//! A machine that is rented only inside a larger one.

use super::{instance, machine_span, made_pools};
use crate::check::Rule;
use crate::cloud::machine::Status;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A machine that is rented only inside a larger one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2512",
        name: "ultraserver-only",
        severity: Severity::Error,
        summary: "a machine is rented only as part of an UltraServer",
        explain: r#"### What it checks

Whether a pool's machine can be had by itself.

### Why it matters

p6e-gb200.36xlarge is a part of an UltraServer: it is rented in capacity blocks of 9 or 18, and
its GPUs are given out with DRA and IMEX channels, which gpuc does not set up.

### What to do

Take a machine that is rented by itself, such as p6-b200.48xlarge.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p6e-gb200.36xlarge, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p6-b200.48xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Some(instance) = instance(pool) else {
            continue;
        };
        if instance.machine.status == Status::PartOfLarger {
            let name = instance.machine.name;
            let message = format!("`{name}` is rented only as part of an UltraServer");
            let draft = report.draft(&RULE.code, machine_span(pool), message);
            let draft = match instance.machine.note {
                Some(note) => draft.here(note),
                None => draft,
            };
            draft
                .help("take a machine that is rented by itself, such as `p6-b200.48xlarge`")
                .emit();
        }
    }
}
