//! The fleet: GPU counts, usage by pool and namespace, and problems.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::model::{Dashboard, Panel, PanelKind, Row, Target, Unit};
use super::parts::{gpus, held, memory_used, panel, recorded, xids};

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-fleet",
        title: "GPUs / Fleet",
        description: "All GPUs of the cluster, by pool.",
        variables: Vec::new(),
        rows: vec![now(), pools(), over_time(), problems()],
    }
}

fn now() -> Row {
    let utilization = recorded(&series::UTILIZATION_RATIO, "").within("avg({})");
    let power = recorded(&series::POWER_WATTS, "").within("sum({})");
    let firing = Expression::of(
        &metrics::ALERTS,
        "alertstate=\"firing\",alertname=~\"Gpu.+\"",
    );
    let stat = PanelKind::Stat;
    Row {
        title: "Now",
        height: 4,
        panels: vec![
            panel(stat, "GPUs", "Measured GPUs.", Unit::Count, (gpus(""), "")),
            panel(
                stat,
                "Allocated",
                "GPUs that pods hold, full or in part.",
                Unit::Count,
                (held(""), ""),
            ),
            panel(
                PanelKind::Gauge,
                "Utilization",
                "The mean over all GPUs and MIG devices.",
                Unit::Ratio,
                (utilization, ""),
            ),
            panel(
                PanelKind::Gauge,
                "Memory usage",
                "The used fraction of the memory of all GPUs.",
                Unit::Ratio,
                (memory_used("", ""), ""),
            ),
            panel(
                stat,
                "Power",
                "The power draw of all GPUs.",
                Unit::Watt,
                (power, ""),
            ),
            panel(
                stat,
                "Alerts",
                "Firing GPU alerts.",
                Unit::Count,
                (firing.within("count({}) or vector(0)"), ""),
            ),
        ],
    }
}

fn pools() -> Row {
    let sum = |series| recorded(series, "").within("sum by (pool, resource) ({})");
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
            panel(
                PanelKind::BarGauge,
                "Utilization",
                "The mean over a pool's GPUs and MIG devices.",
                Unit::Ratio,
                (
                    recorded(&series::UTILIZATION_RATIO, "").within("avg by (pool) ({})"),
                    "{{pool}}",
                ),
            ),
            panel(
                PanelKind::BarGauge,
                "Memory usage",
                "The used fraction of the memory of a pool's GPUs.",
                Unit::Ratio,
                (memory_used("", "pool"), "{{pool}}"),
            ),
        ],
    }
}

fn over_time() -> Row {
    let utilization = recorded(&series::UTILIZATION_RATIO, "").within("avg by (pool) ({})");
    let power = recorded(&series::POWER_WATTS, "").within("sum by (pool) ({})");
    let requested =
        recorded(&series::NODE_REQUESTED, "").within("sum by (namespace, resource) ({})");
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Over time",
        height: 9,
        panels: vec![
            panel(
                lines,
                "Utilization",
                "The mean over a pool's GPUs and MIG devices.",
                Unit::Ratio,
                (utilization, "{{pool}}"),
            ),
            panel(
                lines,
                "Requests",
                "The requests of the pods of each namespace.",
                Unit::Count,
                (requested, "{{namespace}} {{resource}}"),
            ),
            panel(
                lines,
                "Power",
                "The power draw of a pool's GPUs.",
                Unit::Watt,
                (power, "{{pool}}"),
            ),
        ],
    }
}

fn problems() -> Row {
    let hottest = recorded(&series::TEMPERATURE_CELSIUS, "").within("max by (pool) ({})");
    let firing = Expression::of(
        &metrics::ALERTS,
        "alertstate=\"firing\",alertname=~\"Gpu.+\"",
    );
    Row {
        title: "Problems",
        height: 9,
        panels: vec![
            panel(
                PanelKind::Table,
                "Alerts",
                "Firing GPU alerts.",
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
                "The highest temperature in a pool.",
                Unit::Celsius,
                (hottest, "{{pool}}"),
            ),
        ],
    }
}
