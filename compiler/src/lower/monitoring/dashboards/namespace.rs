//! A namespace, which is what a team has: what it asks for, holds and may use.

use super::super::expression::Expression;
use super::super::metrics;
use super::super::series::{self, Series};
use super::model::{Dashboard, PanelKind, Row, Unit, Variable};
use super::parts::{of, panel};

/// The namespaces that were chosen.
const HERE: &str = "namespace=~\"$namespace\"";

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "gpuc-namespace",
        title: "GPUs / Namespace",
        description: "What the pods of a namespace do with their GPUs.",
        variables: vec![Variable {
            name: "namespace",
            label: "namespace",
            series: of(&series::NODE_REQUESTED, ""),
            several: true,
        }],
        rows: vec![now(), use_of_gpus()],
    }
}

/// What a series says of GPUs that the namespace's pods hold. A GPU that several pods share counts for each of them.
fn held(series: &'static Series) -> Expression {
    let holders = of(&series::HOLDER, HERE);
    let holders = holders.within("group by (UUID, GPU_I_ID, namespace, pod) ({})");
    of(series, "").with(
        holders,
        "max by (UUID, GPU_I_ID) ({}) * on (UUID, GPU_I_ID) group_right () {}",
    )
}

fn quota(kind: &str) -> Expression {
    let matchers = format!("{HERE},resource=~\"requests\\\\.nvidia\\\\.com/.+\",type=\"{kind}\"");
    let quota = Expression::of(&metrics::RESOURCE_QUOTA, &matchers);
    quota.within("max by (namespace, resource) ({})")
}

fn now() -> Row {
    let asked = of(&series::NODE_REQUESTED, HERE);
    let asked = || {
        asked
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
                "Asked for",
                "GPUs, shares and slices that pods ask for.",
                Unit::Count,
                (asked(), ""),
            ),
            panel(
                PanelKind::BarGauge,
                "Quota",
                "The part of each quota that is used.",
                Unit::Ratio,
                (used, "{{namespace}} {{resource}}"),
            ),
            panel(
                PanelKind::TimeSeries,
                "Asked for",
                "GPUs, shares and slices that pods ask for.",
                Unit::Count,
                (asked(), "{{namespace}} {{pool}} {{resource}}"),
            ),
        ],
    }
}

fn use_of_gpus() -> Row {
    let busy = held(&series::UTILIZATION_RATIO);
    let memory = held(&series::MEMORY_USED_BYTES);
    let lines = PanelKind::TimeSeries;
    Row {
        title: "Use",
        height: 9,
        panels: vec![
            panel(
                lines,
                "Busy",
                "The GPUs and slices that a pod holds, on average.",
                Unit::Ratio,
                (
                    busy.within("avg by (namespace, pod) ({})"),
                    "{{namespace}}/{{pod}}",
                ),
            ),
            panel(
                lines,
                "Memory in use",
                "Of the GPUs and slices that a pod holds; with others, where it shares them.",
                Unit::Bytes,
                (
                    memory.within("sum by (namespace, pod) ({})"),
                    "{{namespace}}/{{pod}}",
                ),
            ),
        ],
    }
}
