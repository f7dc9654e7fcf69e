//! A pool has `hosts`, but the cloud creates the machines.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2043",
        name: "hosts-unsupported",
        severity: Severity::Error,
        summary: "a pool has `hosts`, but the cloud creates the machines",
        checks: "Whether `hosts` is set only for on-premises clusters.",
        reason: "The cloud names the machines that it creates; the key would have no effect.",
        remedy: "Remove `hosts`. Describe existing nodes with `existing`.",
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
    hosts: [node-1]
"#,
        correction: Correction::Replace(
            "    hosts: [node-1]
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    if !facts.creates_machines {
        return;
    }
    for pool in &cluster.pools {
        if let Some(host) = pool.settings.hosts.first() {
            let message = format!(
                "{} creates the machines of pool `{}`",
                facts.name, pool.name
            );
            report
                .diagnostic(&RULE.code, host.span, message)
                .help("remove `hosts`; describe existing nodes with `existing`")
                .emit();
        }
    }
}
