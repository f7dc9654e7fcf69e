//! EFA on a machine without it.

use super::machines::MACHINES;
use super::{instance, machine_span, made_pools};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// EFA on a machine without it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2521",
        name: "efa-unavailable",
        severity: Severity::Error,
        summary: "a machine has no EFA",
        explain: "### What it checks

Whether a pool's machine has Elastic Fabric Adapters, as far as gpuc's tables know it.

### Why it matters

eksctl asks EC2 and refuses the node group.

### What to do

Remove `efa`, or take a larger machine: `gpuc catalog machines` shows which have it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {efa: {}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.8xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {efa: {}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let (Some(efa), Some(instance)) = (&pool.written.network.efa, instance(pool)) else {
            continue;
        };
        if instance.efa == Some(0) {
            let name = instance.machine.name;
            let with_efa = MACHINES.iter().find(|other| {
                other.machine.family == instance.machine.family
                    && other.efa.is_some_and(|efa| efa > 0)
            });
            let draft = report
                .draft(&RULE.code, efa.span, format!("`{name}` has no EFA"))
                .label(machine_span(pool), "the machine is chosen here");
            match with_efa {
                Some(other) => {
                    draft.help(format!("`{}` has it; or remove `efa`", other.machine.name))
                }
                None => draft.help("remove `efa`"),
            }
            .emit();
        }
    }
}
