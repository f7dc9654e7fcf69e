//! A pool: its nodes and their GPUs.

use super::super::series;
use super::model::{Dashboard, PanelKind, Row, Unit};
use super::parts::{
    gpu_count, held_gpu_count, memory_used, pool_variable, selected_series, single_query_panel,
    xid_panel,
};

/// The matcher of the selected pools.
const SELECTED: &str = "pool=~\"$pool\"";

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-pool",
        title: "GPUs / Pool",
        description: "The nodes of a pool and the usage of their GPUs.",
        variables: vec![pool_variable()],
        rows: vec![current_row(), nodes_row(), health_row()],
    }
}

fn current_row() -> Row {
    let nodes = selected_series(&series::NODE_POOL, SELECTED).wrapped_in("count({})");
    let utilization = selected_series(&series::UTILIZATION_RATIO, SELECTED).wrapped_in("avg({})");
    let allocatable = selected_series(&series::NODE_ALLOCATABLE, SELECTED);
    let requested = selected_series(&series::NODE_REQUESTED, SELECTED);
    let stat = PanelKind::Stat;
    Row {
        title: "Now",
        height: 4,
        panels: vec![
            single_query_panel(stat, "Nodes", "Measured nodes.", Unit::Count, (nodes, "")),
            single_query_panel(
                stat,
                "GPUs",
                "Measured GPUs.",
                Unit::Count,
                (gpu_count(SELECTED), ""),
            ),
            single_query_panel(
                stat,
                "Allocated",
                "GPUs that pods hold, full or in part.",
                Unit::Count,
                (held_gpu_count(SELECTED), ""),
            ),
            single_query_panel(
                PanelKind::BarGauge,
                "Requests",
                "The requested fraction of the allocatable resources of the pool's nodes. GPUs allocated through DRA \
                 are not counted.",
                Unit::Ratio,
                (
                    requested.combined_with(
                        allocatable,
                        "sum by (resource) ({}) / sum by (resource) ({} > 0)",
                    ),
                    "{{resource}}",
                ),
            ),
            single_query_panel(
                PanelKind::Gauge,
                "Utilization",
                "The mean over all GPUs and MIG devices. gpuc-runtime does not measure it for MIG devices.",
                Unit::Ratio,
                (utilization, ""),
            ),
            single_query_panel(
                PanelKind::Gauge,
                "Memory usage",
                "The used fraction of the memory of all GPUs.",
                Unit::Ratio,
                (memory_used(SELECTED, ""), ""),
            ),
        ],
    }
}

fn nodes_row() -> Row {
    let utilization =
        selected_series(&series::UTILIZATION_RATIO, SELECTED).wrapped_in("avg by (node) ({})");
    let hottest =
        selected_series(&series::TEMPERATURE_CELSIUS, SELECTED).wrapped_in("max by (node) ({})");
    let power = selected_series(&series::POWER_WATTS, SELECTED).wrapped_in("sum by (node) ({})");
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Nodes",
        height: 9,
        panels: vec![
            single_query_panel(
                lines,
                "Utilization",
                "The mean over a node's GPUs and MIG devices. gpuc-runtime does not measure it for MIG devices.",
                Unit::Ratio,
                (utilization, "{{node}}"),
            ),
            single_query_panel(
                lines,
                "Memory usage",
                "The used fraction of the memory of a node's GPUs.",
                Unit::Ratio,
                (memory_used(SELECTED, "node"), "{{node}}"),
            ),
            single_query_panel(
                lines,
                "Hottest GPU",
                "The highest temperature on a node.",
                Unit::Celsius,
                (hottest, "{{node}}"),
            ),
            single_query_panel(
                lines,
                "Power",
                "The power draw of a node's GPUs.",
                Unit::Watt,
                (power, "{{node}}"),
            ),
        ],
    }
}

fn health_row() -> Row {
    let allocatable = selected_series(&series::NODE_ALLOCATABLE, SELECTED)
        .wrapped_in("max by (node, resource) ({})");
    Row {
        title: "Health",
        height: 9,
        panels: vec![
            single_query_panel(
                PanelKind::StateTimeline,
                "Allocatable",
                "The allocatable amount of each resource on a node. If it is less than the capacity, some devices are \
                 unhealthy. GPUs allocated through DRA are not counted.",
                Unit::Count,
                (allocatable, "{{node}} {{resource}}"),
            ),
            xid_panel(SELECTED),
        ],
    }
}
