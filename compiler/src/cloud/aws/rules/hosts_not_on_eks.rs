//! Hosts of a cluster whose machines are made.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Hosts of a cluster whose machines are made.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2530",
        name: "hosts-not-on-eks",
        severity: Severity::Error,
        summary: "a pool on EKS has `hosts`",
        explain: r#"### What it checks

Whether a pool has `hosts`.

### Why it matters

On EKS machines are made and get their names from EC2. A list of hosts would mean nothing.

### What to do

Remove `hosts`; for nodes that are there already use `existing`.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, hosts: [node-1, node-2]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if let Some(host) = pool.written.hosts.first() {
            report
                .draft(&RULE.code, host.span, "on EKS machines are made, not named")
                .help("remove `hosts`; for nodes that are there already use `existing`")
                .emit();
        }
    }
}
