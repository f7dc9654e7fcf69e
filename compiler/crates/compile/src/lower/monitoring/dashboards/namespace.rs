//! A namespace, such as that of a team: its requests, devices and quota.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::super::series::Series;
use super::model::{Dashboard, PanelKind, Row, Unit, Variable};
use super::parts::{selected_series, single_query_panel};

/// The matcher of the selected namespaces.
const SELECTED: &str = "namespace=~\"$namespace\"";

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-namespace",
        title: "GPUs / Namespace",
        description: "GPU usage of the pods of a namespace.",
        variables: vec![Variable {
            name: "namespace",
            label: "namespace",
            series: selected_series(&series::NODE_REQUESTED, ""),
            is_multi_select: true,
        }],
        rows: vec![current_row(), usage_row()],
    }
}

/// The values of a series for the GPUs that the namespace's pods hold. A GPU that several pods share counts for each of
/// them.
fn held_by_namespace(series: &'static Series) -> Expression {
    let holders = selected_series(&series::HOLDER, SELECTED);
    let holders = holders.wrapped_in("group by (UUID, GPU_I_ID, namespace, pod) ({})");
    selected_series(series, "").combined_with(
        holders,
        "max by (UUID, GPU_I_ID) ({}) * on (UUID, GPU_I_ID) group_right () {}",
    )
}

fn quota_series(kind: &str) -> Expression {
    let matchers =
        format!("{SELECTED},resource=~\"requests\\\\.nvidia\\\\.com/.+\",type=\"{kind}\"");
    let quota = Expression::for_metric(&metrics::RESOURCE_QUOTA, &matchers);
    quota.wrapped_in("max by (namespace, resource) ({})")
}

fn current_row() -> Row {
    let requested = selected_series(&series::NODE_REQUESTED, SELECTED);
    let requested = || {
        requested
            .clone()
            .wrapped_in("sum by (namespace, resource, pool) ({})")
    };
    let used = quota_series("used").combined_with(quota_series("hard"), "{} / ({} > 0)");
    Row {
        title: "Now",
        height: 8,
        panels: vec![
            single_query_panel(
                PanelKind::Table,
                "Requests",
                "GPUs, replicas and MIG devices that pods request.",
                Unit::Count,
                (requested(), ""),
            ),
            single_query_panel(
                PanelKind::BarGauge,
                "Quota",
                "The used fraction of each quota.",
                Unit::Ratio,
                (used, "{{namespace}} {{resource}}"),
            ),
            single_query_panel(
                PanelKind::TimeSeries,
                "Requests",
                "GPUs, replicas and MIG devices that pods request.",
                Unit::Count,
                (requested(), "{{namespace}} {{pool}} {{resource}}"),
            ),
        ],
    }
}

fn usage_row() -> Row {
    let utilization = held_by_namespace(&series::UTILIZATION_RATIO);
    let memory = held_by_namespace(&series::MEMORY_USED_BYTES);
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Usage",
        height: 9,
        panels: vec![
            single_query_panel(
                lines,
                "Utilization",
                "The mean over the GPUs and MIG devices that a pod holds.",
                Unit::Ratio,
                (
                    utilization.wrapped_in("avg by (namespace, pod) ({})"),
                    "{{namespace}}/{{pod}}",
                ),
            ),
            single_query_panel(
                lines,
                "Memory usage",
                "Of the GPUs and MIG devices that a pod holds; on shared GPUs, of all their pods.",
                Unit::Bytes,
                (
                    memory.wrapped_in("sum by (namespace, pod) ({})"),
                    "{{namespace}}/{{pod}}",
                ),
            ),
        ],
    }
}
