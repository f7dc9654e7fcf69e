//! A function for counters is applied to a gauge, or the reverse.

use gpuc_model::metrics::Kind;
use gpuc_model::metrics::dcgm::dcgm_metric;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use promql_parser::parser::{Call, Expr};

use crate::promql::{metric_name, selector, strip_parens, visit};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4104",
        name: "manifest-metric-type-mismatch",
        severity: Severity::Warning,
        summary: "a function for counters is applied to a gauge, or a function for gauges to a counter",
        checks: "Whether `rate`, `irate`, `increase` and `resets` in PrometheusRules are applied to GPU metrics that are
counters, and `delta`, `idelta` and `deriv` to gauges.",
        reason: "The functions for counters interpret every decrease as a restart of the counter: `increase` of a temperature
that varies is larger than any change of it. The functions for gauges return a negative value when a counter
restarts.",
        remedy: "Use `rate` and `increase` for counters, `deriv` and `delta` for gauges. For the last XID error, use `changes`.",
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
        - alert: GpuError
          expr: increase(DCGM_FI_DEV_XID_ERRORS[5m]) > 0
"#,
        correction: Correction::Replace(
            "increase(DCGM_FI_DEV_XID_ERRORS[5m])",
            "changes(DCGM_FI_DEV_XID_ERRORS[5m])",
        ),
    },
    run,
};

/// Functions, the type that their metric must have, and the function for the other type.
///
/// Source: <https://prometheus.io/docs/prometheus/latest/querying/functions/>, 2026-11-28 (from memory).
const FUNCTIONS: &[(&str, Kind, &str)] = &[
    ("rate", Kind::Counter, "deriv"),
    ("irate", Kind::Counter, "idelta"),
    ("increase", Kind::Counter, "delta"),
    ("resets", Kind::Counter, "changes"),
    ("delta", Kind::Gauge, "increase"),
    ("idelta", Kind::Gauge, "irate"),
    ("deriv", Kind::Gauge, "rate"),
];

/// The metric whose value is a number of an error, not an amount.
const XID_ERRORS: &str = "DCGM_FI_DEV_XID_ERRORS";

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for expression in &ctx.expressions {
        let Ok(parsed) = &expression.parsed else {
            continue;
        };
        let mut mismatches = Vec::new();
        visit(parsed, &mut |it| {
            if let Expr::Call(call) = it {
                mismatches.extend(find_mismatch(call));
            }
        });
        let Some(found) = mismatches.first() else {
            continue;
        };
        let message = format!(
            "{}: `{}` of the {} `{}`",
            expression.title(),
            found.function,
            found.kind.as_str(),
            found.metric
        );
        let reason = match found.kind {
            Kind::Gauge => "every decrease of the gauge counts as a restart of a counter",
            Kind::Counter => "the result is negative when the counter restarts",
        };
        let meant = if found.metric == XID_ERRORS {
            "changes"
        } else {
            found.meant
        };
        report
            .diagnostic(&RULE.code, expression.node.span(), message)
            .primary_label(reason)
            .help(format!("write `{meant}` in place of `{}`", found.function))
            .emit();
    }
}

struct Mismatch {
    function: &'static str,
    metric: &'static str,
    kind: Kind,
    meant: &'static str,
}

/// The metric in a call of a function for another type.
fn find_mismatch(call: &Call) -> Option<Mismatch> {
    let mut functions = FUNCTIONS.iter();
    let (function, kind, meant) = functions.find(|(name, ..)| *name == call.func.name)?;
    let argument = match strip_parens(call.args.args.first()?) {
        Expr::Subquery(it) => strip_parens(&it.expr),
        other => other,
    };
    let metric = dcgm_metric(metric_name(selector(argument)?)?)?;
    (metric.is_kind_certain && metric.kind != *kind).then_some(Mismatch {
        function,
        metric: metric.name,
        kind: metric.kind,
        meant,
    })
}
