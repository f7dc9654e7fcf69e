//! The fleet: GPU counts, usage by pool and namespace, and problems.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::model::{Dashboard, Panel, PanelKind, Row, Target, Unit};
use super::parts::{
    gpu_count, held_gpu_count, memory_used, selected_series, single_query_panel, xid_panel,
};

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-fleet",
        title: "GPUs / Fleet",
        description: "All GPUs of the cluster, by pool.",
        variables: Vec::new(),
        rows: vec![current_row(), pools_row(), history_row(), problems_row()],
    }
}

fn current_row() -> Row {
    let utilization = selected_series(&series::UTILIZATION_RATIO, "").wrapped_in("avg({})");
    let power = selected_series(&series::POWER_WATTS, "").wrapped_in("sum({})");
    let firing = Expression::for_metric(
        &metrics::ALERTS,
        "alertstate=\"firing\",alertname=~\"Gpu.+\"",
    );
    let stat = PanelKind::Stat;
    Row {
        title: "Now",
        height: 4,
        panels: vec![
            single_query_panel(
                stat,
                "GPUs",
                "Measured GPUs.",
                Unit::Count,
                (gpu_count(""), ""),
            ),
            single_query_panel(
                stat,
                "Allocated",
                "GPUs that pods hold, full or in part.",
                Unit::Count,
                (held_gpu_count(""), ""),
            ),
            single_query_panel(
                PanelKind::Gauge,
                "Utilization",
                "The mean over all GPUs and MIG devices.",
                Unit::Ratio,
                (utilization, ""),
            ),
            single_query_panel(
                PanelKind::Gauge,
                "Memory usage",
                "The used fraction of the memory of all GPUs.",
                Unit::Ratio,
                (memory_used("", ""), ""),
            ),
            single_query_panel(
                stat,
                "Power",
                "The power draw of all GPUs.",
                Unit::Watt,
                (power, ""),
            ),
            single_query_panel(
                stat,
                "Alerts",
                "Firing GPU alerts.",
                Unit::Count,
                (firing.wrapped_in("count({}) or vector(0)"), ""),
            ),
        ],
    }
}

fn pools_row() -> Row {
    let sum = |series| selected_series(series, "").wrapped_in("sum by (pool, resource) ({})");
    let target = |expression, legend| Target { expression, legend };
    Row {
        title: "Pools",
        height: 9,
        panels: vec![
            Panel {
                kind: PanelKind::Table,
                title: "Resources",
                description: "Capacity of nodes (A), allocatable (B), and requests of pods (C).",
                unit: Unit::Count,
                targets: vec![
                    target(sum(&series::NODE_CAPACITY), "capacity"),
                    target(sum(&series::NODE_ALLOCATABLE), "allocatable"),
                    target(sum(&series::NODE_REQUESTED), "requested"),
                ],
            },
            single_query_panel(
                PanelKind::BarGauge,
                "Utilization",
                "The mean over a pool's GPUs and MIG devices.",
                Unit::Ratio,
                (
                    selected_series(&series::UTILIZATION_RATIO, "")
                        .wrapped_in("avg by (pool) ({})"),
                    "{{pool}}",
                ),
            ),
            single_query_panel(
                PanelKind::BarGauge,
                "Memory usage",
                "The used fraction of the memory of a pool's GPUs.",
                Unit::Ratio,
                (memory_used("", "pool"), "{{pool}}"),
            ),
        ],
    }
}

fn history_row() -> Row {
    let utilization =
        selected_series(&series::UTILIZATION_RATIO, "").wrapped_in("avg by (pool) ({})");
    let power = selected_series(&series::POWER_WATTS, "").wrapped_in("sum by (pool) ({})");
    let requested = selected_series(&series::NODE_REQUESTED, "")
        .wrapped_in("sum by (namespace, resource) ({})");
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Over time",
        height: 9,
        panels: vec![
            single_query_panel(
                lines,
                "Utilization",
                "The mean over a pool's GPUs and MIG devices.",
                Unit::Ratio,
                (utilization, "{{pool}}"),
            ),
            single_query_panel(
                lines,
                "Requests",
                "The requests of the pods of each namespace.",
                Unit::Count,
                (requested, "{{namespace}} {{resource}}"),
            ),
            single_query_panel(
                lines,
                "Power",
                "The power draw of a pool's GPUs.",
                Unit::Watt,
                (power, "{{pool}}"),
            ),
        ],
    }
}

fn problems_row() -> Row {
    let hottest =
        selected_series(&series::TEMPERATURE_CELSIUS, "").wrapped_in("max by (pool) ({})");
    let firing = Expression::for_metric(
        &metrics::ALERTS,
        "alertstate=\"firing\",alertname=~\"Gpu.+\"",
    );
    Row {
        title: "Problems",
        height: 9,
        panels: vec![
            single_query_panel(
                PanelKind::Table,
                "Alerts",
                "Firing GPU alerts.",
                Unit::Count,
                (
                    firing.wrapped_in("max by (alertname, severity, pool, node, namespace) ({})"),
                    "",
                ),
            ),
            xid_panel(""),
            single_query_panel(
                PanelKind::TimeSeries,
                "Hottest GPU",
                "The highest temperature in a pool.",
                Unit::Celsius,
                (hottest, "{{pool}}"),
            ),
        ],
    }
}
