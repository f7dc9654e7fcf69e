//! An alternative machine type with another number of EFA interfaces.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{catalog_instance, created_pools, machines};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2581",
        name: "alternative-machine-efa",
        severity: Severity::Error,
        summary: "machine types of a pool have different numbers of EFA interfaces",
        checks: "Whether the machine types of a pool with `network: {efa: {}}` have the same number of EFA interfaces.",
        reason: "eksctl writes the network interfaces of a node group into one launch template, and gpuc counts the \
interfaces of each node for its pods.",
        remedy: "Put machine types with other networks into another pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p5e.48xlarge
    alternativeMachines: [p5en.48xlarge]
    zones: [us-east-1a]
    nodes: {count: 1}
    network: {efa: {}}
"#,
        correction: Correction::Replace("    alternativeMachines: [p5en.48xlarge]\n", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let (Some(efa), Some(first)) = (&pool.settings.network.efa, catalog_instance(pool)) else {
            continue;
        };
        for name in &pool.settings.alternative_machines {
            let Some(other) = machines::find(name).filter(|other| other.efa != first.efa) else {
                continue;
            };
            let interfaces = other
                .efa
                .map_or("an unknown number of".to_owned(), |count| count.to_string());
            let message = format!("`{name}` has {interfaces} EFA interfaces");
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(efa.span, "the pool uses EFA")
                .help("remove it, or put it into another pool")
                .emit();
        }
    }
}
