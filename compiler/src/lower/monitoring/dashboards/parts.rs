//! What several dashboards have in common.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series::{self, Series};
use super::model::{Panel, PanelKind, Target, Unit, Variable};

/// The series that these matchers pick.
pub(super) fn of(series: &'static Series, matchers: &str) -> Expression {
    Expression::recorded(series, matchers)
}

/// A panel of one query.
pub(super) fn panel(
    kind: PanelKind,
    title: &'static str,
    description: &'static str,
    unit: Unit,
    (expression, legend): (Expression, &'static str),
) -> Panel {
    Panel {
        kind,
        title,
        description,
        unit,
        targets: vec![Target { expression, legend }],
    }
}

/// Some pools, or all.
pub(super) fn pools() -> Variable {
    Variable {
        name: "pool",
        label: "pool",
        series: of(&series::NODE_POOL, ""),
        several: true,
    }
}

/// How many GPUs the series that these matchers pick are about. Slices of one GPU count as it.
pub(super) fn gpus(matchers: &str) -> Expression {
    let measured = of(&series::MEMORY_BYTES, matchers);
    measured.within("count(group by (UUID) ({}))")
}

/// How many of them somebody holds.
pub(super) fn held(matchers: &str) -> Expression {
    let held = of(&series::HOLDER, matchers);
    held.within("count(group by (UUID) ({})) or vector(0)")
}

/// How much of their memory is in use, by some labels.
pub(super) fn memory_used(matchers: &str, by: &str) -> Expression {
    let used = of(&series::MEMORY_USED_BYTES, matchers);
    let all = of(&series::MEMORY_BYTES, matchers);
    used.with(all, &format!("sum by ({by}) ({{}}) / sum by ({by}) ({{}})"))
}

/// The last errors that the driver reported.
pub(super) fn xids(matchers: &str) -> Panel {
    let last = Expression::of(&metrics::XID, matchers);
    panel(
        PanelKind::Table,
        "Last errors (Xid)",
        "The last critical error of each GPU that had one since its exporter started.",
        Unit::Count,
        (
            last.within("max by (pool, node, gpu, err_code, err_msg) ({}) > 0"),
            "",
        ),
    )
}
