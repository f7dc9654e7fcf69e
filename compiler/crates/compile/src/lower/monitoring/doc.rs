//! The documentation of the alerts, for `docs/alerts.md` and for `gpuc explain`.

use std::fmt::Write;

use gpuc_schema::config::AlertName;

use super::alerts::{alert_doc, alert_id};
use super::metrics::METRICS;
use super::series::SERIES;

/// The documentation of the alert with this name, ignoring case.
pub fn alert_page(name: &str) -> Option<String> {
    let mut names = AlertName::ALL.iter();
    let name = names.find(|alert| alert_id(**alert).eq_ignore_ascii_case(name))?;
    Some(format!("# {}", alert_section(*name)))
}

/// The names of all alerts, as Prometheus shows them.
pub fn alert_names() -> impl Iterator<Item = String> {
    AlertName::ALL.iter().map(|name| alert_id(*name))
}

/// Every alert, recorded series and metric, as one page.
pub fn alerts_page() -> String {
    let mut text = String::from(
        "# Alerts\n\nThe alerts that `monitoring` creates, and the metrics behind them. This file is \
         generated.\n\nEvery alert has the label `severity`, and `pool` if it is about one pool. `monitoring.alerts` \
         sets the thresholds; `disabled` there turns an alert off by its name. A pool has an alert only if it has the \
         metrics that the alert requires.\n",
    );
    for name in AlertName::ALL {
        write!(text, "\n## {}", alert_section(*name)).expect(INFALLIBLE);
    }
    text.push_str(
        "\n## Recorded series\n\nThe rules of each pool record these series, in base units and with the same labels \
         for every exporter. Alerts and dashboards query them; your own rules can too.\n\n| Series | Labels in \
         addition to `pool` | Description |\n |---|---|---|\n",
    );
    for series in SERIES {
        let labels: Vec<_> = series
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let labels = labels.join(", ");
        writeln!(text, "| `{}` | {labels} | {} |", series.name, series.help).expect(INFALLIBLE);
    }
    text.push_str(
        "\n## Source metrics\n\n| Metric | Type | Unit | Exported by |\n|---|---|---|---|\n",
    );
    for metric in METRICS {
        let exporters: Vec<_> = metric.exporters.iter().map(|it| it.as_str()).collect();
        let (name, exporters) = (metric.name, exporters.join(", "));
        let kind = metric.kind.as_str();
        writeln!(
            text,
            "| `{name}` | {kind} | {} | {exporters} |",
            metric.unit
        )
        .expect(INFALLIBLE);
    }
    text
}

const INFALLIBLE: &str = "writing to a String cannot fail";

fn alert_section(name: AlertName) -> String {
    let doc = alert_doc(name);
    format!(
        "{}\n\nSeverity: {}. {}\n\n{}\n\n{}\n",
        alert_id(name),
        doc.severity.as_str(),
        doc.condition,
        doc.meaning,
        doc.action
    )
}
