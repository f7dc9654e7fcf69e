//! A pool: its nodes and their GPUs.

use super::super::series;
use super::model::{Dashboard, PanelKind, Row, Unit};
use super::parts::{gpus, held, memory_used, of, panel, pools, xids};

/// The pools that were chosen.
const HERE: &str = "pool=~\"$pool\"";

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-pool",
        title: "GPUs / Pool",
        description: "The nodes of a pool, and what its GPUs do.",
        variables: vec![pools()],
        rows: vec![now(), nodes(), trouble()],
    }
}

fn now() -> Row {
    let nodes = of(&series::NODE_POOL, HERE).within("count({})");
    let busy = of(&series::UTILIZATION_RATIO, HERE).within("avg({})");
    let offered = of(&series::NODE_ALLOCATABLE, HERE);
    let asked = of(&series::NODE_REQUESTED, HERE);
    let stat = PanelKind::Stat;
    Row {
        title: "Now",
        height: 4,
        panels: vec![
            panel(
                stat,
                "Nodes",
                "Nodes that are measured.",
                Unit::Count,
                (nodes, ""),
            ),
            panel(
                stat,
                "GPUs",
                "Cards that are measured.",
                Unit::Count,
                (gpus(HERE), ""),
            ),
            panel(
                stat,
                "Held",
                "Cards that a pod holds, whole or in part.",
                Unit::Count,
                (held(HERE), ""),
            ),
            panel(
                PanelKind::BarGauge,
                "Asked for",
                "Of what the pool's nodes offer. Claimed GPUs are not counted.",
                Unit::Ratio,
                (
                    asked.with(
                        offered,
                        "sum by (resource) ({}) / sum by (resource) ({} > 0)",
                    ),
                    "{{resource}}",
                ),
            ),
            panel(
                PanelKind::Gauge,
                "Busy",
                "The mean over all GPUs and slices. gpuc-runtime does not know it of slices.",
                Unit::Ratio,
                (busy, ""),
            ),
            panel(
                PanelKind::Gauge,
                "Memory in use",
                "Of the memory of all GPUs.",
                Unit::Ratio,
                (memory_used(HERE, ""), ""),
            ),
        ],
    }
}

fn nodes() -> Row {
    let busy = of(&series::UTILIZATION_RATIO, HERE).within("avg by (node) ({})");
    let hot = of(&series::TEMPERATURE_CELSIUS, HERE).within("max by (node) ({})");
    let power = of(&series::POWER_WATTS, HERE).within("sum by (node) ({})");
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Nodes",
        height: 9,
        panels: vec![
            panel(
                lines,
                "Busy",
                "The mean over a node's GPUs and slices. gpuc-runtime does not know it of slices.",
                Unit::Ratio,
                (busy, "{{node}}"),
            ),
            panel(
                lines,
                "Memory in use",
                "Of the memory of a node's GPUs.",
                Unit::Ratio,
                (memory_used(HERE, "node"), "{{node}}"),
            ),
            panel(
                lines,
                "Hottest GPU",
                "The highest temperature of a node.",
                Unit::Celsius,
                (hot, "{{node}}"),
            ),
            panel(
                lines,
                "Power",
                "What a node's GPUs draw.",
                Unit::Watt,
                (power, "{{node}}"),
            ),
        ],
    }
}

fn trouble() -> Row {
    let offered = of(&series::NODE_ALLOCATABLE, HERE).within("max by (node, resource) ({})");
    Row {
        title: "Health",
        height: 9,
        panels: vec![
            panel(
                PanelKind::StateTimeline,
                "Offered",
                "How many of each resource a node offers. Fewer than it has: some are ill. Claimed GPUs are not counted.",
                Unit::Count,
                (offered, "{{node}} {{resource}}"),
            ),
            xids(HERE),
        ],
    }
}
