//! A taint is invalid.

use gpuc_kubernetes::names::{label_key_problem, label_value_problem};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2006",
        name: "taint-invalid",
        severity: Severity::Error,
        summary: "a taint is invalid",
        checks: "Whether the keys and values of `taints` have the syntax of Kubernetes labels.",
        reason: "Nodes with such a taint cannot join the cluster.",
        remedy: "Correct the key or the value as described in the help.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: "needs a GPU", effect: NoSchedule}]
"#,
        correction: Correction::Replace(r#""needs a GPU""#, r#""present""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for taint in cluster.pools.iter().flat_map(|pool| &pool.user_taints) {
        let taint = &taint.value;
        let key = label_key_problem(&taint.key).map(|problem| (&taint.key, "key", problem));
        let value =
            label_value_problem(&taint.value).map(|problem| (&taint.value, "value", problem));
        for (text, part, problem) in key.into_iter().chain(value) {
            let message = format!("invalid taint {part} `{text}`");
            report
                .diagnostic(&RULE.code, text.span, message)
                .help(problem)
                .emit();
        }
    }
}
