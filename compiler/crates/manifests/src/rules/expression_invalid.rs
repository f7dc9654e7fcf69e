//! An expression of a PrometheusRule is not valid PromQL.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4103",
        name: "manifest-expression-invalid",
        severity: Severity::Error,
        summary: "an expression of a PrometheusRule is not valid PromQL",
        checks: "Whether `expr` of each rule in a PrometheusRule is valid PromQL. Expressions that may be templates are not
checked, nor those that newer versions of Prometheus may accept. Without `monitoring` in the file, only brackets
and quotes are checked, because the rules may be for another program.",
        reason: "The Prometheus Operator rejects the whole PrometheusRule, with all of its valid alerts, and keeps a Warning
event. `kubectl apply` succeeds unless the operator's admission webhook is installed.",
        remedy: "Correct the expression.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
--- # manifest.yaml
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: gpus, namespace: research}
spec:
  groups:
    - name: gpus
      rules:
        - alert: GpuHot
          expr: max(DCGM_FI_DEV_GPU_TEMP > 85
"#,
        correction: Correction::Replace(
            "max(DCGM_FI_DEV_GPU_TEMP > 85",
            "max(DCGM_FI_DEV_GPU_TEMP) > 85",
        ),
    },
    run,
};

// The operator rejects the object: prometheus-operator/prometheus-operator@v0.93.0 `pkg/operator/rules.go`, `Select`,
// 2026-11-28.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for expression in &ctx.expressions {
        let Err(error) = &expression.parsed else {
            continue;
        };
        // Without `monitoring`, the rules may be for another program than Prometheus.
        if ctx.cluster.config.monitoring.is_none() && !error.is_universal() {
            continue;
        }
        let message = format!(
            "{}: invalid expression: {}",
            expression.title(),
            error.cause
        );
        report
            .diagnostic(&RULE.code, expression.node.span(), message)
            .primary_label("the Prometheus Operator rejects the whole object")
            .help(error.help.as_str())
            .emit();
    }
}
