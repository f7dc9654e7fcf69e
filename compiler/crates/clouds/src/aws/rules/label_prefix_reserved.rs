//! A label that the kubelet cannot set.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2527",
        name: "label-prefix-reserved",
        severity: Severity::Error,
        summary: "a label has a prefix that is reserved for Kubernetes",
        checks: "Whether a pool has labels with the prefixes kubernetes.io and k8s.io, except node.kubernetes.io and
kubelet.kubernetes.io.",
        reason: "A kubelet cannot set labels with these prefixes on its own node, so that a node cannot pretend to be
a control plane node. eksctl rejects them.",
        remedy: "Use a prefix of your own, or none.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, labels: {node-role.kubernetes.io/gpu: "true"}}
"#,
        correction: Correction::Replace(r#"node-role.kubernetes.io/gpu: "true""#, "acme.dev/role: gpu"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        for key in pool.user_labels.keys() {
            let Some((domain, _)) = key.split_once('/') else {
                continue;
            };
            let is_below = |parent: &str| {
                let rest = domain.strip_suffix(parent);
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            let is_allowed = is_below("node.kubernetes.io") || is_below("kubelet.kubernetes.io");
            if (is_below("kubernetes.io") || is_below("k8s.io")) && !is_allowed {
                let message = format!("the kubelet cannot set the label `{key}`");
                report
                    .diagnostic(&RULE.code, key.span, message)
                    .primary_label(format!("`{domain}` is reserved for Kubernetes"))
                    .help("use a prefix of your own, or none")
                    .emit();
            }
        }
    }
}
