//! A node: each of its GPUs.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::super::series::Series;
use super::model::{Dashboard, Panel, PanelKind, Row, Unit, Variable};
use super::parts::{panel, pools, recorded, xids};

/// The matcher of the selected nodes.
const SELECTED: &str = "pool=~\"$pool\",node=~\"$node\"";

/// A GPU or MIG device in a legend.
const LEGEND: &str = "{{node}} GPU {{gpu}} {{GPU_I_PROFILE}} {{GPU_I_ID}}";

pub(super) fn dashboard() -> Dashboard {
    let nodes = Variable {
        name: "node",
        label: "node",
        series: recorded(&series::NODE_POOL, "pool=~\"$pool\""),
        several: true,
    };
    Dashboard {
        uid: "gpuc-node",
        title: "GPUs / Node",
        description: "Each GPU of a node: its usage and the pods that hold it.",
        variables: vec![pools(), nodes],
        rows: vec![usage(), hardware(), health()],
    }
}

fn lines(
    title: &'static str,
    description: &'static str,
    unit: Unit,
    series: &'static Series,
) -> Panel {
    let kind = PanelKind::TimeSeries;
    panel(
        kind,
        title,
        description,
        unit,
        (recorded(series, SELECTED), LEGEND),
    )
}

fn usage() -> Row {
    let holder = recorded(&series::HOLDER, SELECTED);
    Row {
        title: "Usage",
        height: 9,
        panels: vec![
            lines(
                "Utilization",
                "Of each GPU or MIG device. gpuc-runtime does not measure it for MIG devices.",
                Unit::Ratio,
                &series::UTILIZATION_RATIO,
            ),
            lines(
                "Memory usage",
                "Of each GPU or MIG device.",
                Unit::Bytes,
                &series::MEMORY_USED_BYTES,
            ),
            panel(
                PanelKind::StateTimeline,
                "Pods",
                "The pods that hold a GPU, a replica of it or a MIG device.",
                Unit::Count,
                (holder, "{{node}} {{namespace}}/{{pod}} {{GPU_I_ID}}"),
            ),
        ],
    }
}

fn hardware() -> Row {
    Row {
        title: "Hardware",
        height: 9,
        panels: vec![
            lines(
                "Temperature",
                "Of each GPU.",
                Unit::Celsius,
                &series::TEMPERATURE_CELSIUS,
            ),
            lines(
                "Power",
                "The power draw of each GPU.",
                Unit::Watt,
                &series::POWER_WATTS,
            ),
            lines(
                "SM clock",
                "Of each GPU.",
                Unit::Hertz,
                &series::CLOCK_HERTZ,
            ),
        ],
    }
}

fn health() -> Row {
    let energy = recorded(&series::ENERGY_JOULES, SELECTED);
    let replays = Expression::of(&metrics::PCIE_REPLAYS, SELECTED);
    Row {
        title: "Health",
        height: 9,
        panels: vec![
            xids(SELECTED),
            panel(
                PanelKind::TimeSeries,
                "PCIe replays per minute",
                "Retransmitted packets between a GPU and its host.",
                Unit::Count,
                (
                    replays.within("max by (node, gpu) (rate({}[$__rate_interval])) * 60"),
                    "{{node}} GPU {{gpu}}",
                ),
            ),
            panel(
                PanelKind::Stat,
                "Energy",
                "The energy consumption of the node's GPUs in the selected time range.",
                Unit::WattHours,
                (
                    energy.within("sum by (node) (increase({}[$__range])) / 3600"),
                    "{{node}}",
                ),
            ),
        ],
    }
}
