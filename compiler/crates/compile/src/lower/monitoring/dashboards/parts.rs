//! Parts that several dashboards share.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::super::series::Series;
use super::model::{Panel, PanelKind, Target, Unit, Variable};

/// The series selected by these matchers.
pub(super) fn recorded(series: &'static Series, matchers: &str) -> Expression {
    Expression::recorded(series, matchers)
}

/// A panel with one query.
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

/// The variable that selects pools.
pub(super) fn pools() -> Variable {
    Variable {
        name: "pool",
        label: "pool",
        series: recorded(&series::NODE_POOL, ""),
        several: true,
    }
}

/// The number of measured GPUs. The MIG devices of a GPU count as one.
pub(super) fn gpus(matchers: &str) -> Expression {
    let measured = recorded(&series::MEMORY_BYTES, matchers);
    measured.within("count(group by (UUID) ({}))")
}

/// The number of GPUs that pods hold.
pub(super) fn held(matchers: &str) -> Expression {
    let held = recorded(&series::HOLDER, matchers);
    held.within("count(group by (UUID) ({})) or vector(0)")
}

/// The ratio of used memory, grouped by labels.
pub(super) fn memory_used(matchers: &str, by: &str) -> Expression {
    let used = recorded(&series::MEMORY_USED_BYTES, matchers);
    let all = recorded(&series::MEMORY_BYTES, matchers);
    used.with(all, &format!("sum by ({by}) ({{}}) / sum by ({by}) ({{}})"))
}

/// The last errors reported by the driver.
pub(super) fn xids(matchers: &str) -> Panel {
    let last = Expression::of(&metrics::XID, matchers);
    panel(
        PanelKind::Table,
        "Last errors (Xid)",
        "The last critical error of each GPU since its exporter started.",
        Unit::Count,
        (
            last.within("max by (pool, node, gpu, err_code, err_msg) ({}) > 0"),
            "",
        ),
    )
}
