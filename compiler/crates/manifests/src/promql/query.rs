//! Walks the tree of an expression.

use promql_parser::label::{METRIC_NAME, MatchOp};
use promql_parser::parser::token::{T_LOR, T_LUNLESS};
use promql_parser::parser::{Expr, VectorSelector};

/// Functions whose result says that there is no series.
const ABSENCE_FUNCTIONS: &[&str] = &["absent", "absent_over_time"];

/// Visits an expression and all expressions in it.
pub(crate) fn visit<'e>(expression: &'e Expr, visitor: &mut dyn FnMut(&'e Expr)) {
    visitor(expression);
    for child in children(expression) {
        visit(child, visitor);
    }
}

/// The selectors without whose series an expression has no result: not alternatives, nor those that test whether
/// there is a series.
pub(crate) fn required_selectors(expression: &Expr) -> Vec<&VectorSelector> {
    let children = match expression {
        Expr::Binary(it) if it.op.id() == T_LOR => Vec::new(),
        Expr::Binary(it) if it.op.id() == T_LUNLESS => vec![&*it.lhs],
        Expr::Call(it) if ABSENCE_FUNCTIONS.contains(&it.func.name) => Vec::new(),
        _ => children(expression),
    };
    let own = selector(expression).into_iter();
    own.chain(children.into_iter().flat_map(required_selectors))
        .collect()
}

/// The selector that an expression is, instant or over a range.
pub(crate) fn selector(expression: &Expr) -> Option<&VectorSelector> {
    match expression {
        Expr::VectorSelector(it) => Some(it),
        Expr::MatrixSelector(it) => Some(&it.vs),
        _ => None,
    }
}

/// The name of the metric that a selector requires.
pub(crate) fn metric_name(selector: &VectorSelector) -> Option<&str> {
    let is_name =
        |it: &&promql_parser::label::Matcher| it.name == METRIC_NAME && it.op == MatchOp::Equal;
    let mut matchers = selector.matchers.matchers.iter();
    let named = || Some(matchers.find(is_name)?.value.as_str());
    selector.name.as_deref().or_else(named)
}

/// Whether a series is a metric of dcgm-exporter, not one that a rule records from it.
pub(crate) fn is_dcgm_metric(name: &str) -> bool {
    !name.contains(':') && (name.starts_with("DCGM_FI_") || name.starts_with("DCGM_EXP_"))
}

/// The expression without parentheses around it.
pub(crate) fn strip_parens(expression: &Expr) -> &Expr {
    let mut inner = expression;
    while let Expr::Paren(it) = inner {
        inner = &it.expr;
    }
    inner
}

fn children(expression: &Expr) -> Vec<&Expr> {
    match expression {
        Expr::Aggregate(it) => {
            let parameter = it.param.iter().map(|it| &**it);
            parameter.chain([&*it.expr]).collect()
        }
        Expr::Unary(it) => vec![&it.expr],
        Expr::Binary(it) => vec![&it.lhs, &it.rhs],
        Expr::Paren(it) => vec![&it.expr],
        Expr::Subquery(it) => vec![&it.expr],
        Expr::Call(it) => it.args.args.iter().map(|it| &**it).collect(),
        Expr::VectorSelector(_)
        | Expr::MatrixSelector(_)
        | Expr::NumberLiteral(_)
        | Expr::StringLiteral(_)
        | Expr::Extension(_) => Vec::new(),
    }
}
