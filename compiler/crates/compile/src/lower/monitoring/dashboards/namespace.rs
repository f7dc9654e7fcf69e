//! A namespace, such as that of a team: its requests, devices and quota.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series;
use super::super::series::Series;
use super::model::{Dashboard, PanelKind, Row, Unit, Variable};
use super::parts::{panel, recorded};

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
            series: recorded(&series::NODE_REQUESTED, ""),
            several: true,
        }],
        rows: vec![now(), usage()],
    }
}

/// The values of a series for the GPUs that the namespace's pods hold. A GPU that several pods share counts for each of
/// them.
fn held(series: &'static Series) -> Expression {
    let holders = recorded(&series::HOLDER, SELECTED);
    let holders = holders.within("group by (UUID, GPU_I_ID, namespace, pod) ({})");
    recorded(series, "").with(
        holders,
        "max by (UUID, GPU_I_ID) ({}) * on (UUID, GPU_I_ID) group_right () {}",
    )
}

fn quota(kind: &str) -> Expression {
    let matchers =
        format!("{SELECTED},resource=~\"requests\\\\.nvidia\\\\.com/.+\",type=\"{kind}\"");
    let quota = Expression::of(&metrics::RESOURCE_QUOTA, &matchers);
    quota.within("max by (namespace, resource) ({})")
}

fn now() -> Row {
    let requested = recorded(&series::NODE_REQUESTED, SELECTED);
    let requested = || {
        requested
            .clone()
            .within("sum by (namespace, resource, pool) ({})")
    };
    let used = quota("used").with(quota("hard"), "{} / ({} > 0)");
    Row {
        title: "Now",
        height: 8,
        panels: vec![
            panel(
                PanelKind::Table,
                "Requests",
                "GPUs, replicas and MIG devices that pods request.",
                Unit::Count,
                (requested(), ""),
            ),
            panel(
                PanelKind::BarGauge,
                "Quota",
                "The used fraction of each quota.",
                Unit::Ratio,
                (used, "{{namespace}} {{resource}}"),
            ),
            panel(
                PanelKind::TimeSeries,
                "Requests",
                "GPUs, replicas and MIG devices that pods request.",
                Unit::Count,
                (requested(), "{{namespace}} {{pool}} {{resource}}"),
            ),
        ],
    }
}

fn usage() -> Row {
    let utilization = held(&series::UTILIZATION_RATIO);
    let memory = held(&series::MEMORY_USED_BYTES);
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Usage",
        height: 9,
        panels: vec![
            panel(
                lines,
                "Utilization",
                "The mean over the GPUs and MIG devices that a pod holds.",
                Unit::Ratio,
                (
                    utilization.within("avg by (namespace, pod) ({})"),
                    "{{namespace}}/{{pod}}",
                ),
            ),
            panel(
                lines,
                "Memory usage",
                "Of the GPUs and MIG devices that a pod holds; on shared GPUs, of all their pods.",
                Unit::Bytes,
                (
                    memory.within("sum by (namespace, pod) ({})"),
                    "{{namespace}}/{{pod}}",
                ),
            ),
        ],
    }
}
