//! Two pools have the same name.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2003",
        name: "pool-name-duplicate",
        severity: Severity::Error,
        summary: "two pools have the same name",
        checks: "Whether each pool has a unique name.",
        reason: "The name identifies the pool everywhere: in the cloud, in the node label, in quotas and workloads.",
        remedy: "Rename one of the pools.",
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
  - name: gpu
    machine: g6.2xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            "1}
  - name: gpu",
            "1}
  - name: large",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let name = &pool.name;
        let first = cluster.pools[..pool.index]
            .iter()
            .find(|other| other.name == *name);
        if let Some(first) = first {
            let message = format!("duplicate pool name `{name}`");
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(first.name.span, "the first pool of this name")
                .help("rename one of the pools")
                .emit();
        }
    }
}
