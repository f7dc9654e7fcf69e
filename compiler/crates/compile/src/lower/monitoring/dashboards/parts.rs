//! Parts that several dashboards share.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::super::series::Series;
use super::model::{Panel, PanelKind, Target, Unit, Variable};

/// The series selected by these matchers.
pub(super) fn selected_series(series: &'static Series, matchers: &str) -> Expression {
    Expression::for_series(series, matchers)
}

/// A panel with one query.
pub(super) fn single_query_panel(
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
pub(super) fn pool_variable() -> Variable {
    Variable {
        name: "pool",
        label: "pool",
        series: selected_series(&series::NODE_POOL, ""),
        is_multi_select: true,
    }
}

/// The number of measured GPUs. The MIG devices of a GPU count as one.
pub(super) fn gpu_count(matchers: &str) -> Expression {
    let measured = selected_series(&series::MEMORY_BYTES, matchers);
    measured.wrapped_in("count(group by (UUID) ({}))")
}

/// The number of GPUs that pods hold.
pub(super) fn held_gpu_count(matchers: &str) -> Expression {
    let held = selected_series(&series::HOLDER, matchers);
    held.wrapped_in("count(group by (UUID) ({})) or vector(0)")
}

/// The ratio of used memory, grouped by labels.
pub(super) fn memory_used(matchers: &str, by: &str) -> Expression {
    let used = selected_series(&series::MEMORY_USED_BYTES, matchers);
    let all = selected_series(&series::MEMORY_BYTES, matchers);
    used.combined_with(all, &format!("sum by ({by}) ({{}}) / sum by ({by}) ({{}})"))
}

/// The last errors reported by the driver.
pub(super) fn xid_panel(matchers: &str) -> Panel {
    let last = Expression::for_metric(&metrics::XID, matchers);
    single_query_panel(
        PanelKind::Table,
        "Last errors (Xid)",
        "The last critical error of each GPU since its exporter started.",
        Unit::Count,
        (
            last.wrapped_in("max by (pool, node, gpu, err_code, err_msg) ({}) > 0"),
            "",
        ),
    )
}
