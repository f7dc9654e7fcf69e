//! A GPU metric is compared with a number in another unit.

use gpuc_model::metrics::dcgm::{Range, dcgm_metric};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use promql_parser::parser::token::{
    T_AVG, T_DIV, T_EQLC, T_GTE, T_GTR, T_LSS, T_LTE, T_MAX, T_MIN, T_MUL, TokenId,
};
use promql_parser::parser::{BinaryExpr, Expr};

use crate::promql::{metric_name, selector, strip_parens, visit};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4108",
        name: "manifest-threshold-out-of-range",
        severity: Severity::Warning,
        summary: "a GPU metric is compared with a number in another unit",
        checks: "Whether thresholds in PrometheusRules are in the unit of the metric: from 0 to 1 for profiling metrics such as
`DCGM_FI_PROF_GR_ENGINE_ACTIVE`, and from 0 to 100 for `DCGM_FI_DEV_GPU_UTIL` and the utilizations of other
engines.",
        reason: "A fraction is never greater than 80, and an alert with `> 80` never fires. A percentage is greater than 0.8 as
soon as the GPU is used at all.",
        remedy: "Write the threshold in the unit of the metric, or multiply the metric by 100.",
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
        - alert: GpuBusy
          expr: DCGM_FI_PROF_GR_ENGINE_ACTIVE > 80
"#,
        correction: Correction::Replace(
            "ENGINE_ACTIVE > 80",
            "ENGINE_ACTIVE > 0.8",
        ),
    },
    run,
};

/// Functions that return a value of the metric.
const SELECTING_FUNCTIONS: &[&str] = &["last_over_time", "max_over_time", "min_over_time"];

/// The function that returns a value between those of the metric.
const AVERAGE: &str = "avg_over_time";

/// The values of an expression.
struct Bounds {
    metric: &'static str,
    range: Range,
    /// The largest value.
    max: f64,
    /// Whether the values are those of the metric itself, not averages or products.
    is_direct: bool,
}

/// A comparison with a number in another unit.
struct Mistake {
    metric: &'static str,
    reason: String,
    operator: &'static str,
    written: f64,
    meant: f64,
}

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for expression in &ctx.expressions {
        let Ok(parsed) = &expression.parsed else {
            continue;
        };
        let mut mistakes = Vec::new();
        visit(parsed, &mut |it| {
            if let Expr::Binary(binary) = it {
                mistakes.extend(find_mistake(binary));
            }
        });
        let Some(found) = mistakes.first() else {
            continue;
        };
        let message = format!(
            "{}: `{}` is compared with {}",
            expression.title(),
            found.metric,
            found.written
        );
        let help = if found.meant <= 100.0 {
            format!("compare it with `{} {}`", found.operator, found.meant)
        } else {
            "write a number in the unit of the metric".to_owned()
        };
        report
            .diagnostic(&RULE.code, expression.node.span(), message)
            .primary_label(found.reason.as_str())
            .help(help)
            .emit();
    }
}

fn find_mistake(binary: &BinaryExpr) -> Option<Mistake> {
    let (compared, written, operator) = match (number(&binary.lhs), number(&binary.rhs)) {
        (None, Some(threshold)) => (&binary.lhs, threshold, binary.op.id()),
        (Some(threshold), None) => (&binary.rhs, threshold, flip(binary.op.id())),
        _ => return None,
    };
    let name = operator_name(operator)?;
    let bounds = bounds(compared)?;
    let (reason, meant) = match bounds.range {
        // `<= 1` and `>= 1` are useful.
        Range::Fraction if written > bounds.max => {
            let reason = format!("the value is from 0 to {}", round(bounds.max));
            (reason, written / 100.0 * bounds.max)
        }
        Range::Percent if written > bounds.max && operator != T_LSS && operator != T_LTE => (
            format!("the value is from 0 to {}", round(bounds.max)),
            f64::INFINITY,
        ),
        Range::Percent if bounds.is_direct && is_fraction(written, operator) => (
            "the value is a percentage, a whole number".to_owned(),
            written * 100.0,
        ),
        _ => return None,
    };
    Some(Mistake {
        metric: bounds.metric,
        reason,
        operator: name,
        written,
        meant: if meant > bounds.max {
            f64::INFINITY
        } else {
            round(meant)
        },
    })
}

fn number(expression: &Expr) -> Option<f64> {
    match strip_parens(expression) {
        Expr::NumberLiteral(it) => Some(it.val),
        _ => None,
    }
}

/// Whether a threshold for a percentage is meant as a fraction. `> 0.5` may mean any use.
fn is_fraction(written: f64, operator: TokenId) -> bool {
    written > 0.5 && written < 1.0 && (operator == T_GTR || operator == T_GTE)
}

/// The possible values of an expression that selects, aggregates or scales one metric.
fn bounds(expression: &Expr) -> Option<Bounds> {
    match strip_parens(expression) {
        Expr::Aggregate(it) => {
            let inner = bounds(&it.expr)?;
            match it.op.id() {
                T_MIN | T_MAX => Some(inner),
                T_AVG => Some(Bounds {
                    is_direct: false,
                    ..inner
                }),
                _ => None,
            }
        }
        Expr::Call(it) => {
            let inner = bounds(it.args.args.first()?)?;
            match it.func.name {
                AVERAGE => Some(Bounds {
                    is_direct: false,
                    ..inner
                }),
                name => SELECTING_FUNCTIONS.contains(&name).then_some(inner),
            }
        }
        Expr::Subquery(it) => bounds(&it.expr),
        Expr::Binary(it) => {
            let (scaled, factor) = match (number(&it.lhs), number(&it.rhs), it.op.id()) {
                (None, Some(factor), T_MUL) => (&it.lhs, factor),
                (Some(factor), None, T_MUL) => (&it.rhs, factor),
                (None, Some(divisor), T_DIV) => (&it.lhs, 1.0 / divisor),
                _ => return None,
            };
            let inner = bounds(scaled).filter(|_| factor.is_finite() && factor > 0.0)?;
            let max = inner.max * factor;
            Some(Bounds {
                max,
                is_direct: false,
                ..inner
            })
        }
        other => {
            let metric = dcgm_metric(metric_name(selector(other)?)?)?;
            Some(Bounds {
                metric: metric.name,
                range: metric.range,
                max: metric.range.max()?,
                is_direct: true,
            })
        }
    }
}

fn operator_name(operator: TokenId) -> Option<&'static str> {
    match operator {
        T_GTR => Some(">"),
        T_GTE => Some(">="),
        T_LSS => Some("<"),
        T_LTE => Some("<="),
        T_EQLC => Some("=="),
        _ => None,
    }
}

/// The operator with the operands exchanged.
fn flip(operator: TokenId) -> TokenId {
    match operator {
        T_GTR => T_LSS,
        T_GTE => T_LTE,
        T_LSS => T_GTR,
        T_LTE => T_GTE,
        other => other,
    }
}

/// A number as users write it, without the error of binary fractions.
fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
