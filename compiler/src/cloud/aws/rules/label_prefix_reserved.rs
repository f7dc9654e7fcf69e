//! A label that the kubelet may not set.

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A label that the kubelet may not set.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2527",
        name: "label-prefix-reserved",
        severity: Severity::Error,
        summary: "a label has a prefix that is Kubernetes' own",
        explain: "### What it checks

Whether a pool's labels stay out of kubernetes.io and k8s.io, apart from node.kubernetes.io and
kubelet.kubernetes.io.

### Why it matters

A kubelet may not give its own node labels of these domains, so that a node cannot pretend to be
a control plane. eksctl refuses them.

### What to do

Use a domain of your own, or none.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, labels: {node-role.kubernetes.io/gpu: "true"}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, labels: {acme.dev/role: gpu}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        for key in pool.written.labels.keys() {
            let Some((domain, _)) = key.split_once('/') else {
                continue;
            };
            let within = |parent: &str| {
                let rest = domain.strip_suffix(parent);
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            let open = within("node.kubernetes.io") || within("kubelet.kubernetes.io");
            if (within("kubernetes.io") || within("k8s.io")) && !open {
                let message = format!("a kubelet may not set the label `{key}`");
                report
                    .draft(&RULE.code, key.span, message)
                    .here(format!("`{domain}` is Kubernetes' own"))
                    .help("use a domain of your own, or none")
                    .emit();
            }
        }
    }
}
