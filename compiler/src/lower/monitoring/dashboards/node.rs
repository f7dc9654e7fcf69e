//! A node: each of its GPUs.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series::{self, Series};
use super::model::{Dashboard, Panel, PanelKind, Row, Unit, Variable};
use super::parts::{of, panel, pools, xids};

/// The nodes that were chosen.
const HERE: &str = "pool=~\"$pool\",node=~\"$node\"";

/// A GPU or slice in a legend.
const WHICH: &str = "{{node}} GPU {{gpu}} {{GPU_I_PROFILE}} {{GPU_I_ID}}";

pub(super) fn dashboard() -> Dashboard {
    let nodes = Variable {
        name: "node",
        label: "node",
        series: of(&series::NODE_POOL, "pool=~\"$pool\""),
        several: true,
    };
    Dashboard {
        uid: "gpuc-node",
        title: "GPUs / Node",
        description: "Each GPU of a node: what it does, and who holds it.",
        variables: vec![pools(), nodes],
        rows: vec![work(), body(), health()],
    }
}

fn lines(
    title: &'static str,
    description: &'static str,
    unit: Unit,
    series: &'static Series,
) -> Panel {
    let kind = PanelKind::TimeSeries;
    panel(kind, title, description, unit, (of(series, HERE), WHICH))
}

fn work() -> Row {
    let holder = of(&series::HOLDER, HERE);
    Row {
        title: "Work",
        height: 9,
        panels: vec![
            lines(
                "Busy",
                "Of each GPU or slice. gpuc-runtime does not know it of slices.",
                Unit::Ratio,
                &series::UTILIZATION_RATIO,
            ),
            lines(
                "Memory in use",
                "Of each GPU or slice.",
                Unit::Bytes,
                &series::MEMORY_USED_BYTES,
            ),
            panel(
                PanelKind::StateTimeline,
                "Held by",
                "The pods that hold a GPU, a share of it or a slice.",
                Unit::Count,
                (holder, "{{node}} {{namespace}}/{{pod}} {{GPU_I_ID}}"),
            ),
        ],
    }
}

fn body() -> Row {
    Row {
        title: "Card",
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
                "What each GPU draws.",
                Unit::Watt,
                &series::POWER_WATTS,
            ),
            lines(
                "Clock",
                "Of each GPU's processors.",
                Unit::Hertz,
                &series::CLOCK_HERTZ,
            ),
        ],
    }
}

fn health() -> Row {
    let energy = of(&series::ENERGY_JOULES, HERE);
    let replays = Expression::of(&metrics::PCIE_REPLAYS, HERE);
    Row {
        title: "Health",
        height: 9,
        panels: vec![
            xids(HERE),
            panel(
                PanelKind::TimeSeries,
                "PCIe replays a minute",
                "Packets that had to be sent again between a GPU and its host.",
                Unit::Count,
                (
                    replays.within("max by (node, gpu) (rate({}[$__rate_interval])) * 60"),
                    "{{node}} GPU {{gpu}}",
                ),
            ),
            panel(
                PanelKind::Stat,
                "Energy",
                "What the node's GPUs drew in the time that is shown.",
                Unit::WattHours,
                (
                    energy.within("sum by (node) (increase({}[$__range])) / 3600"),
                    "{{node}}",
                ),
            ),
        ],
    }
}
