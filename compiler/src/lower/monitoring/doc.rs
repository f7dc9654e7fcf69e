//! The pages of the alerts, for `docs/alerts.md` and for `gpuc explain`.

use std::fmt::Write;

use gpuc_schema::config::AlertName;

use super::alerts::{page, word};
use super::metrics::METRICS;
use super::series::SERIES;

/// The page of the alert of this name, however it is capitalised.
pub fn alert_page(name: &str) -> Option<String> {
    let mut names = AlertName::ALL.iter();
    let name = names.find(|alert| word(**alert).eq_ignore_ascii_case(name))?;
    Some(format!("# {}", section(*name)))
}

/// Every alert, recorded series and metric, as one page.
pub fn alerts_page() -> String {
    let mut text = String::from(
        "# Alerts\n\nWhat `monitoring` tells, and from what. This file is generated.\n\nEvery alert has the label \
         `severity`, and `pool` where it is about one. `monitoring.alerts` has the thresholds; `disabled` there turns an \
         alert off by its name. An alert is there for a pool only where its pool has what it looks at.\n",
    );
    for name in AlertName::ALL {
        write!(text, "\n## {}", section(*name)).expect(INFALLIBLE);
    }
    text.push_str(
        "\n## What is recorded\n\nRules of each pool record these, in base units and with the same labels whatever \
         measures the GPUs. Alerts and dashboards look at them; so can yours.\n\n| Series | Labels beside `pool` | What |\n\
         |---|---|---|\n",
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
        "\n## What is read\n\n| Metric | Type | Unit | Exported by |\n|---|---|---|---|\n",
    );
    for metric in METRICS {
        let exporters: Vec<_> = metric.exporters.iter().map(|it| it.word()).collect();
        let (name, exporters) = (metric.name, exporters.join(", "));
        let kind = metric.kind.word();
        writeln!(
            text,
            "| `{name}` | {kind} | {} | {exporters} |",
            metric.unit
        )
        .expect(INFALLIBLE);
    }
    text
}

const INFALLIBLE: &str = "a String takes everything";

fn section(name: AlertName) -> String {
    let page = page(name);
    format!(
        "{}\n\nSeverity: {}. {}\n\n{}\n\n{}\n",
        word(name),
        page.severity.word(),
        page.when,
        page.meaning,
        page.action
    )
}
