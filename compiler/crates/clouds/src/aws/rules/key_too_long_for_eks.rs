//! A label or taint key that is too long for EKS.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2528",
        name: "key-too-long-for-eks",
        severity: Severity::Error,
        summary: "the key of a label or taint is too long for EKS",
        checks: "Whether keys of labels and taints have at most 63 characters, including the prefix.",
        reason: "Kubernetes counts the prefix separately and allows 253 characters for it. The EKS API limits prefix
and name together.",
        remedy: "Shorten the prefix or the name.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, labels: {a-label-with-a-name-that-fits.example.com/but-not-with-its-whole-domain: x}}
"#,
        correction: Correction::Replace("a-label-with-a-name-that-fits.example.com/but-not-with-its-whole-domain:", "example.com/short:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let labels = pool.user_labels.keys();
        let taints = pool.user_taints.iter().map(|taint| &taint.key);
        for key in labels.chain(taints) {
            let length = key.chars().count();
            if length > MAX_LENGTH {
                let message =
                    format!("`{key}` has {length} characters; EKS allows at most {MAX_LENGTH}");
                report
                    .diagnostic(&RULE.code, key.span, message)
                    .help("shorten the prefix or the name")
                    .emit();
            }
        }
    }
}

/// The maximum length of a key, including its prefix (botocore 1.43.11, eks `labelKey` and `taintKey`, 2026-11-21).
const MAX_LENGTH: usize = 63;
