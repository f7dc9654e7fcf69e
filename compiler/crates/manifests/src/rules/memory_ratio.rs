//! Used GPU memory is divided by free GPU memory.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use promql_parser::parser::token::{T_COUNT, T_DIV, T_GTE, T_GTR, T_LSS, T_LTE, T_MUL};
use promql_parser::parser::{BinaryExpr, Expr};

use crate::promql::{metric_name, selector, strip_parens, visit};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4105",
        name: "manifest-memory-ratio",
        severity: Severity::Warning,
        summary: "used GPU memory is divided by free GPU memory",
        checks: "Whether an expression in a PrometheusRule divides `DCGM_FI_DEV_FB_USED` by `DCGM_FI_DEV_FB_FREE`. A comparison
of the quotient with a number above 1 is not reported.",
        reason: "The quotient is not the used share of the memory. It is 1 when half of the memory is used, and has no upper
limit: an alert for 95 % fires at 49 %.",
        remedy: "Divide by the sum of used and free memory. Neither contains the memory that the driver reserves.",
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
        - alert: GpuMemoryFull
          expr: DCGM_FI_DEV_FB_USED / DCGM_FI_DEV_FB_FREE > 0.95
"#,
        correction: Correction::Replace(
            "/ DCGM_FI_DEV_FB_FREE",
            "/ (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)",
        ),
    },
    run,
};

const USED: &str = "DCGM_FI_DEV_FB_USED";
const FREE: &str = "DCGM_FI_DEV_FB_FREE";

// Used memory as a share is used / (total - reserved): DCGM's field 254. Source: NVIDIA/DCGM `dcgmlib/dcgm_fields.h`
// (from memory).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for expression in &ctx.expressions {
        let Ok(parsed) = &expression.parsed else {
            continue;
        };
        // Other arithmetic can make a share of it: `r / (1 + r)`.
        let mut is_wrong = largest_share(parsed).is_some();
        visit(parsed, &mut |it| {
            if let Expr::Binary(binary) = it {
                is_wrong |= is_compared_as_share(binary);
            }
        });
        if !is_wrong {
            continue;
        }
        let message = format!(
            "{}: used GPU memory is divided by free memory",
            expression.title()
        );
        report
            .diagnostic(&RULE.code, expression.node.span(), message)
            .primary_label("1 when half of the memory is used, and not limited")
            .help(format!("divide by the sum: `{USED} / ({USED} + {FREE})`"))
            .emit();
    }
}

fn is_ratio(binary: &BinaryExpr) -> bool {
    binary.op.id() == T_DIV && reads(&binary.lhs, USED) && reads(&binary.rhs, FREE)
}

/// The largest share if an expression is a ratio: 1, or 100 as a percentage.
fn largest_share(expression: &Expr) -> Option<f64> {
    let Expr::Binary(binary) = strip_parens(expression) else {
        return None;
    };
    if is_ratio(binary) {
        return Some(1.0);
    }
    let is_hundred = |it: &Expr| matches!(strip_parens(it), Expr::NumberLiteral(it) if (it.val - 100.0).abs() < 0.5);
    let is_share = |it: &Expr| matches!(strip_parens(it), Expr::Binary(it) if is_ratio(it));
    let (left, right) = (&binary.lhs, &binary.rhs);
    let is_percentage = binary.op.id() == T_MUL
        && (is_hundred(left) && is_share(right) || is_share(left) && is_hundred(right));
    is_percentage.then_some(100.0)
}

/// Whether a ratio is compared with a share. `used / free > 19` is correct for 95 %.
fn is_compared_as_share(binary: &BinaryExpr) -> bool {
    let is_comparison = [T_GTR, T_GTE, T_LSS, T_LTE].contains(&binary.op.id());
    let Expr::NumberLiteral(number) = strip_parens(&binary.rhs) else {
        return false;
    };
    is_comparison && largest_share(&binary.lhs).is_some_and(|largest| number.val <= largest)
}

/// Whether an expression is a metric, or an aggregation of it.
fn reads(expression: &Expr, metric: &str) -> bool {
    match strip_parens(expression) {
        Expr::Aggregate(it) if it.op.id() != T_COUNT => reads(&it.expr, metric),
        Expr::Call(it) => it.args.args.last().is_some_and(|it| reads(it, metric)),
        other => selector(other).and_then(metric_name) == Some(metric),
    }
}
