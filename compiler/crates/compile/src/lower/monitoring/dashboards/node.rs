//! A node: each of its GPUs.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::super::series::Series;
use super::model::{Dashboard, Panel, PanelKind, Row, Unit, Variable};
use super::parts::{pool_variable, selected_series, single_query_panel, xid_panel};

/// The matcher of the selected nodes.
const SELECTED: &str = "pool=~\"$pool\",node=~\"$node\"";

/// A GPU or MIG device in a legend.
const LEGEND: &str = "{{node}} GPU {{gpu}} {{GPU_I_PROFILE}} {{GPU_I_ID}}";

pub(super) fn dashboard() -> Dashboard {
    let nodes = Variable {
        name: "node",
        label: "node",
        series: selected_series(&series::NODE_POOL, "pool=~\"$pool\""),
        is_multi_select: true,
    };
    Dashboard {
        uid: "gpuc-node",
        title: "GPUs / Node",
        description: "Each GPU of a node: its usage and the pods that hold it.",
        variables: vec![pool_variable(), nodes],
        rows: vec![usage_row(), hardware_row(), health_row()],
    }
}

fn time_series_panel(
    title: &'static str,
    description: &'static str,
    unit: Unit,
    series: &'static Series,
) -> Panel {
    let kind = PanelKind::TimeSeries;
    single_query_panel(
        kind,
        title,
        description,
        unit,
        (selected_series(series, SELECTED), LEGEND),
    )
}

fn usage_row() -> Row {
    let holder = selected_series(&series::HOLDER, SELECTED);
    Row {
        title: "Usage",
        height: 9,
        panels: vec![
            time_series_panel(
                "Utilization",
                "Of each GPU or MIG device. gpuc-runtime does not measure it for MIG devices.",
                Unit::Ratio,
                &series::UTILIZATION_RATIO,
            ),
            time_series_panel(
                "Memory usage",
                "Of each GPU or MIG device.",
                Unit::Bytes,
                &series::MEMORY_USED_BYTES,
            ),
            single_query_panel(
                PanelKind::StateTimeline,
                "Pods",
                "The pods that hold a GPU, a replica of it or a MIG device.",
                Unit::Count,
                (holder, "{{node}} {{namespace}}/{{pod}} {{GPU_I_ID}}"),
            ),
        ],
    }
}

fn hardware_row() -> Row {
    Row {
        title: "Hardware",
        height: 9,
        panels: vec![
            time_series_panel(
                "Temperature",
                "Of each GPU.",
                Unit::Celsius,
                &series::TEMPERATURE_CELSIUS,
            ),
            time_series_panel(
                "Power",
                "The power draw of each GPU.",
                Unit::Watt,
                &series::POWER_WATTS,
            ),
            time_series_panel(
                "SM clock",
                "Of each GPU.",
                Unit::Hertz,
                &series::CLOCK_HERTZ,
            ),
        ],
    }
}

fn health_row() -> Row {
    let energy = selected_series(&series::ENERGY_JOULES, SELECTED);
    let replays = Expression::for_metric(&metrics::PCIE_REPLAYS, SELECTED);
    Row {
        title: "Health",
        height: 9,
        panels: vec![
            xid_panel(SELECTED),
            single_query_panel(
                PanelKind::TimeSeries,
                "PCIe replays per minute",
                "Retransmitted packets between a GPU and its host.",
                Unit::Count,
                (
                    replays.wrapped_in("max by (node, gpu) (rate({}[$__rate_interval])) * 60"),
                    "{{node}} GPU {{gpu}}",
                ),
            ),
            single_query_panel(
                PanelKind::Stat,
                "Energy",
                "The energy consumption of the node's GPUs in the selected time range.",
                Unit::WattHours,
                (
                    energy.wrapped_in("sum by (node) (increase({}[$__range])) / 3600"),
                    "{{node}}",
                ),
            ),
        ],
    }
}
