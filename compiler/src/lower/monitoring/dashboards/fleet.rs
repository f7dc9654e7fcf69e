//! The fleet: how many GPUs there are, who uses how much, and what is wrong.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::model::{Dashboard, Panel, PanelKind, Row, Target, Unit};
use super::parts::{gpus, held, memory_used, of, panel, xids};

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-fleet",
        title: "GPUs / Fleet",
        description: "All GPUs of the cluster, by pool.",
        variables: Vec::new(),
        rows: vec![now(), pools(), time(), trouble()],
    }
}

fn now() -> Row {
    let busy = of(&series::UTILIZATION_RATIO, "").within("avg({})");
    let power = of(&series::POWER_WATTS, "").within("sum({})");
    let firing = Expression::of(
        &metrics::ALERTS,
        "alertstate=\"firing\",alertname=~\"Gpu.+\"",
    );
    let stat = PanelKind::Stat;
    Row {
        title: "Now",
        height: 4,
        panels: vec![
            panel(
                stat,
                "GPUs",
                "Cards that are measured.",
                Unit::Count,
                (gpus(""), ""),
            ),
            panel(
                stat,
                "Held",
                "Cards that a pod holds, whole or in part.",
                Unit::Count,
                (held(""), ""),
            ),
            panel(
                PanelKind::Gauge,
                "Busy",
                "The mean over all GPUs and slices.",
                Unit::Ratio,
                (busy, ""),
            ),
            panel(
                PanelKind::Gauge,
                "Memory in use",
                "Of the memory of all GPUs.",
                Unit::Ratio,
                (memory_used("", ""), ""),
            ),
            panel(
                stat,
                "Power",
                "What all GPUs draw.",
                Unit::Watt,
                (power, ""),
            ),
            panel(
                stat,
                "Alerts",
                "GPU alerts that are firing.",
                Unit::Count,
                (firing.within("count({}) or vector(0)"), ""),
            ),
        ],
    }
}

fn pools() -> Row {
    let sum = |series| of(series, "").within("sum by (pool, resource) ({})");
    let target = |expression, legend| Target { expression, legend };
    Row {
        title: "Pools",
        height: 9,
        panels: vec![
            Panel {
                kind: PanelKind::Table,
                title: "Resources",
                description: "What nodes have (A), what they offer (B), and what pods ask for (C).",
                unit: Unit::Count,
                targets: vec![
                    target(sum(&series::NODE_CAPACITY), "capacity"),
                    target(sum(&series::NODE_ALLOCATABLE), "allocatable"),
                    target(sum(&series::NODE_REQUESTED), "requested"),
                ],
            },
            panel(
                PanelKind::BarGauge,
                "Busy",
                "The mean over a pool's GPUs and slices.",
                Unit::Ratio,
                (
                    of(&series::UTILIZATION_RATIO, "").within("avg by (pool) ({})"),
                    "{{pool}}",
                ),
            ),
            panel(
                PanelKind::BarGauge,
                "Memory in use",
                "Of the memory of a pool's GPUs.",
                Unit::Ratio,
                (memory_used("", "pool"), "{{pool}}"),
            ),
        ],
    }
}

fn time() -> Row {
    let busy = of(&series::UTILIZATION_RATIO, "").within("avg by (pool) ({})");
    let power = of(&series::POWER_WATTS, "").within("sum by (pool) ({})");
    let asked = of(&series::NODE_REQUESTED, "").within("sum by (namespace, resource) ({})");
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Over time",
        height: 9,
        panels: vec![
            panel(
                lines,
                "Busy",
                "The mean over a pool's GPUs and slices.",
                Unit::Ratio,
                (busy, "{{pool}}"),
            ),
            panel(
                lines,
                "Asked for",
                "What the pods of each namespace ask for.",
                Unit::Count,
                (asked, "{{namespace}} {{resource}}"),
            ),
            panel(
                lines,
                "Power",
                "What a pool's GPUs draw.",
                Unit::Watt,
                (power, "{{pool}}"),
            ),
        ],
    }
}

fn trouble() -> Row {
    let hottest = of(&series::TEMPERATURE_CELSIUS, "").within("max by (pool) ({})");
    let firing = Expression::of(
        &metrics::ALERTS,
        "alertstate=\"firing\",alertname=~\"Gpu.+\"",
    );
    Row {
        title: "Trouble",
        height: 9,
        panels: vec![
            panel(
                PanelKind::Table,
                "Alerts",
                "GPU alerts that are firing.",
                Unit::Count,
                (
                    firing.within("max by (alertname, severity, pool, node, namespace) ({})"),
                    "",
                ),
            ),
            xids(""),
            panel(
                PanelKind::TimeSeries,
                "Hottest GPU",
                "The highest temperature of a pool.",
                Unit::Celsius,
                (hottest, "{{pool}}"),
            ),
        ],
    }
}
