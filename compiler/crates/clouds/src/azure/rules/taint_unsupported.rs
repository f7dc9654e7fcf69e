//! Taint that `az` does not accept.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, SetBy};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2723",
        name: "aks-taint-unsupported",
        severity: Severity::Error,
        summary: "`az` does not accept a taint",
        checks: "Whether `az` accepts a taint: a key of at most 253 characters, including the prefix, and a value of at
most 63 characters. Both consist of letters, digits, `_`, `-` and `.`.",
        reason: "`az` validates taints more strictly than Kubernetes does. It fails and stops the script.",
        remedy: "Shorten the key, or replace the characters that `az` does not accept.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    taints:
      - key: a-very-long-domain-part-that-nobody-would-want-to-type-twice.a-very-long-domain-part-that-nobody-would-want-to-type-twice.a-very-long-domain-part-that-nobody-would-want-to-type-twice.a-very-long-domain-part-that-nobody-would-want-to-type-twice/dedicated-to-research
        value: research
        effect: NoSchedule
"#,
        correction: Correction::Replace("a-very-long-domain-part-that-nobody-would-want-to-type-twice.a-very-long-domain-part-that-nobody-would-want-to-type-twice.a-very-long-domain-part-that-nobody-would-want-to-type-twice.a-very-long-domain-part-that-nobody-would-want-to-type-twice/dedicated-to-research", "example.com/dedicated"),
    },
    run,
};

/// Source: azure-cli 2.91.0 `acs/_validators.py`, the expression for node taints.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        for taint in pool
            .taints
            .iter()
            .filter(|taint| taint.set_by == SetBy::Gpuc)
        {
            // Another rule reports a missing value.
            if is_taint_key(&taint.key) && (taint.value.is_empty() || is_taint_value(&taint.value))
            {
                continue;
            }
            let message = format!(
                "`az` does not accept the taint `{}={}`",
                taint.key, taint.value
            );
            report
                .diagnostic(&RULE.code, taint.span, message)
                .help("use at most 253 letters, digits, `_`, `-`, `.` and `/` in the key, 63 without `/` in the value")
                .emit();
        }
    }
}

fn is_taint_key(key: &str) -> bool {
    key.len() <= 253 && consists_of(key, "_-./")
}

fn is_taint_value(value: &str) -> bool {
    value.len() <= 63 && consists_of(value, "_-.")
}

fn consists_of(text: &str, punctuation: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && (text.chars()).all(|c| c.is_ascii_alphanumeric() || punctuation.contains(c))
}
