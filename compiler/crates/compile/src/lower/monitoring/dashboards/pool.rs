//! A pool: its nodes and their GPUs.

use super::super::series;
use super::model::{Dashboard, PanelKind, Row, Unit};
use super::parts::{gpus, held, memory_used, panel, pools, recorded, xids};

/// The matcher of the selected pools.
const SELECTED: &str = "pool=~\"$pool\"";

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-pool",
        title: "GPUs / Pool",
        description: "The nodes of a pool and the usage of their GPUs.",
        variables: vec![pools()],
        rows: vec![now(), nodes(), health()],
    }
}

fn now() -> Row {
    let nodes = recorded(&series::NODE_POOL, SELECTED).within("count({})");
    let utilization = recorded(&series::UTILIZATION_RATIO, SELECTED).within("avg({})");
    let allocatable = recorded(&series::NODE_ALLOCATABLE, SELECTED);
    let requested = recorded(&series::NODE_REQUESTED, SELECTED);
    let stat = PanelKind::Stat;
    Row {
        title: "Now",
        height: 4,
        panels: vec![
            panel(stat, "Nodes", "Measured nodes.", Unit::Count, (nodes, "")),
            panel(
                stat,
                "GPUs",
                "Measured GPUs.",
                Unit::Count,
                (gpus(SELECTED), ""),
            ),
            panel(
                stat,
                "Allocated",
                "GPUs that pods hold, full or in part.",
                Unit::Count,
                (held(SELECTED), ""),
            ),
            panel(
                PanelKind::BarGauge,
                "Requests",
                "The requested fraction of the allocatable resources of the pool's nodes. GPUs allocated through DRA \
                 are not counted.",
                Unit::Ratio,
                (
                    requested.with(
                        allocatable,
                        "sum by (resource) ({}) / sum by (resource) ({} > 0)",
                    ),
                    "{{resource}}",
                ),
            ),
            panel(
                PanelKind::Gauge,
                "Utilization",
                "The mean over all GPUs and MIG devices. gpuc-runtime does not measure it for MIG devices.",
                Unit::Ratio,
                (utilization, ""),
            ),
            panel(
                PanelKind::Gauge,
                "Memory usage",
                "The used fraction of the memory of all GPUs.",
                Unit::Ratio,
                (memory_used(SELECTED, ""), ""),
            ),
        ],
    }
}

fn nodes() -> Row {
    let utilization = recorded(&series::UTILIZATION_RATIO, SELECTED).within("avg by (node) ({})");
    let hottest = recorded(&series::TEMPERATURE_CELSIUS, SELECTED).within("max by (node) ({})");
    let power = recorded(&series::POWER_WATTS, SELECTED).within("sum by (node) ({})");
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Nodes",
        height: 9,
        panels: vec![
            panel(
                lines,
                "Utilization",
                "The mean over a node's GPUs and MIG devices. gpuc-runtime does not measure it for MIG devices.",
                Unit::Ratio,
                (utilization, "{{node}}"),
            ),
            panel(
                lines,
                "Memory usage",
                "The used fraction of the memory of a node's GPUs.",
                Unit::Ratio,
                (memory_used(SELECTED, "node"), "{{node}}"),
            ),
            panel(
                lines,
                "Hottest GPU",
                "The highest temperature on a node.",
                Unit::Celsius,
                (hottest, "{{node}}"),
            ),
            panel(
                lines,
                "Power",
                "The power draw of a node's GPUs.",
                Unit::Watt,
                (power, "{{node}}"),
            ),
        ],
    }
}

fn health() -> Row {
    let allocatable =
        recorded(&series::NODE_ALLOCATABLE, SELECTED).within("max by (node, resource) ({})");
    Row {
        title: "Health",
        height: 9,
        panels: vec![
            panel(
                PanelKind::StateTimeline,
                "Allocatable",
                "The allocatable amount of each resource on a node. If it is less than the capacity, some devices are \
                 unhealthy. GPUs allocated through DRA are not counted.",
                Unit::Count,
                (allocatable, "{{node}} {{resource}}"),
            ),
            xids(SELECTED),
        ],
    }
}
