//! A pool names hosts where the cloud makes the machines.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool names hosts where the cloud makes the machines.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2043",
        name: "hosts-without-need",
        severity: Severity::Error,
        summary: "a pool names hosts where the cloud makes the machines",
        explain: "### What it checks

Whether `hosts` stands only where the machines are your own.

### Why it matters

The cloud names the machines that it makes; nothing would become of the key.

### What to do

Remove `hosts`. Nodes that are there already are described with `existing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    hosts: [node-1]
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    if !facts.makes_machines {
        return;
    }
    for pool in &cluster.pools {
        if let Some(host) = pool.written.hosts.first() {
            let message = format!("{} makes the machines of pool `{}`", facts.name, pool.name);
            let draft = report.draft(&RULE.code, host.span, message);
            draft
                .help("remove `hosts`; nodes that are there are described with `existing`")
                .emit();
        }
    }
}
