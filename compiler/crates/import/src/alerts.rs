//! The key `monitoring.alerts`: the thresholds in the rules that gpuc generated.
//!
//! Source of the expressions: `compile/src/lower/monitoring/alerts`.

use std::collections::BTreeSet;

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_schema::config::{AlertName, Alerts};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::{items, source, text, word};
use crate::report::Report;
use crate::tree::{Entries, Item};

/// A threshold: its key, the alert with it, and what is after the number in the expression.
struct Threshold {
    key: &'static str,
    alert: AlertName,
    before: &'static str,
    after: &'static str,
}

const THRESHOLDS: &[Threshold] = &[
    Threshold {
        key: "temperatureCelsius",
        alert: AlertName::GpuTemperatureHigh,
        before: "> ",
        after: "",
    },
    Threshold {
        key: "memoryUsedPercent",
        alert: AlertName::GpuMemoryNearlyFull,
        before: "> ",
        after: " / 100",
    },
    Threshold {
        key: "powerWatts",
        alert: AlertName::GpuPowerHigh,
        before: "> ",
        after: "",
    },
    Threshold {
        key: "idlePercent",
        alert: AlertName::GpuIdle,
        before: "< ",
        after: " / 100",
    },
    Threshold {
        key: "pcieReplaysPerMinute",
        alert: AlertName::GpuPcieReplays,
        before: "> ",
        after: "",
    },
    Threshold {
        key: "quotaUsedPercent",
        alert: AlertName::GpuQuotaNearlyUsed,
        before: ">= ",
        after: " / 100",
    },
];

/// The alerts that pools have whatever their GPUs, exporter and device plugin are. Of the others, the file does not say
/// whether they are absent because they are disabled.
const OF_EVERY_CLUSTER: &[AlertName] = &[
    AlertName::GpuTemperatureHigh,
    AlertName::GpuTemperatureCritical,
    AlertName::GpuMemoryNearlyFull,
    AlertName::GpuXidFatal,
    AlertName::GpuXid,
    AlertName::GpuPcieReplays,
    AlertName::GpuIdle,
    AlertName::GpuUnhealthy,
    AlertName::GpuExporterDown,
    AlertName::GpuQuotaNearlyUsed,
    AlertName::KubeStateMetricsAbsent,
];

/// A rule and the object that it is in.
struct Rule<'s> {
    object: &'s Object,
    rule: &'s Value,
}

/// The thresholds and the disabled alerts.
pub(crate) fn alerts(cx: &Context<'_>, report: &mut Report) -> Option<Item> {
    if !cx.is_complete(Kind::PrometheusRule) {
        let reason = "the rules are not known; the file has gpuc's default thresholds";
        report.leave_out(Some("monitoring.alerts"), "PrometheusRules", reason);
        return None;
    }
    let rules = rules(cx);
    if rules.is_empty() {
        let reason =
            "gpuc reads only rules that it generated; the file has gpuc's default thresholds";
        report.leave_out(Some("monitoring.alerts"), "PrometheusRules", reason);
        return None;
    }
    let defaults = serde_json::to_value(Alerts::default()).unwrap_or_default();
    let mut entries = Entries::default();
    for threshold in THRESHOLDS {
        let name = word(&threshold.alert);
        let mut found = rules
            .iter()
            .filter(|it| text(it.rule, "/alert") == Some(&name));
        let found = found.find_map(|it| Some((number_in(text(it.rule, "/expr")?, threshold)?, it)));
        let Some((number, rule)) = found else {
            continue;
        };
        if defaults.get(threshold.key).and_then(Value::as_u64) != Some(u64::from(number)) {
            entries.push(threshold.key, Item::number(number).sure(rule.source(&name)));
        }
    }
    push_idle_minutes(&rules, &defaults, &mut entries);
    let names: BTreeSet<&str> = rules
        .iter()
        .filter_map(|it| text(it.rule, "/alert"))
        .collect();
    let absent = OF_EVERY_CLUSTER
        .iter()
        .map(word)
        .filter(|it| !names.contains(it.as_str()));
    let at = "PrometheusRules of gpuc without this alert";
    let disabled = absent.map(|name| Item::text(name).sure(at));
    entries.push_list("disabled", disabled.collect());
    let unknown: Vec<String> = AlertName::ALL
        .iter()
        .filter(|it| !OF_EVERY_CLUSTER.contains(it) && **it != AlertName::GpuPowerHigh)
        .map(word)
        .filter(|it| !names.contains(it.as_str()))
        .collect();
    if !unknown.is_empty() {
        let reason = format!(
            "no pool has the alerts {}; they may be disabled, or no pool has what they are about",
            unknown.join(", ")
        );
        report.leave_out(
            Some("monitoring.alerts.disabled"),
            "PrometheusRules",
            reason,
        );
    }
    entries.into_some()
}

fn push_idle_minutes(rules: &[Rule<'_>], defaults: &Value, entries: &mut Entries) {
    let name = word(&AlertName::GpuIdle);
    let mut idle = rules
        .iter()
        .filter(|it| text(it.rule, "/alert") == Some(&name));
    let minutes = idle.find_map(|it| {
        let minutes: u64 = text(it.rule, "/for")?.strip_suffix('m')?.parse().ok()?;
        Some((minutes, it))
    });
    if let Some((minutes, rule)) =
        minutes.filter(|it| defaults["idleMinutes"].as_u64() != Some(it.0))
    {
        entries.push(
            "idleMinutes",
            Item::number(minutes).sure(rule.source(&name)),
        );
    }
}

impl Rule<'_> {
    fn source(&self, alert: &str) -> String {
        let expression = text(self.rule, "/expr").unwrap_or_default();
        source(
            name_of("PrometheusRule", self.object),
            format!("alert {alert}"),
            expression,
        )
    }
}

/// The rules of gpuc.
fn rules<'s>(cx: &Context<'s>) -> Vec<Rule<'s>> {
    let objects = cx.state.objects(Kind::PrometheusRule).iter();
    let own = objects.filter(|it| {
        it.metadata.label("app.kubernetes.io/managed-by") == Some("gpuc")
            && it.metadata.name.starts_with("gpuc-")
    });
    let rules = own.flat_map(|object| {
        let groups = object.items("/spec/groups").iter();
        let rules = groups.flat_map(|group| items(group, "/rules"));
        rules.map(move |rule| Rule { object, rule })
    });
    rules.filter(|it| it.rule.get("alert").is_some()).collect()
}

/// The threshold in an expression, at its end.
fn number_in(expression: &str, threshold: &Threshold) -> Option<u32> {
    let start = expression.trim_end().strip_suffix(threshold.after)?;
    let (_, number) = start.rsplit_once(threshold.before)?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_the_last_number_of_an_expression() {
        let expressions = [
            "gpuc:gpu_temperature_celsius{pool=\"a\"} > 80",
            "x > 0 / y > 95 / 100",
            "x > 700",
            "x and on (UUID) avg_over_time(y[10m]) < 5 / 100",
            "max by (a) (rate(x[15m])) * 60 > 10",
            "a / (b > 0) >= 90 / 100",
        ];
        let numbers = THRESHOLDS
            .iter()
            .zip(expressions)
            .map(|(it, text)| number_in(text, it));
        let numbers: Vec<Option<u32>> = numbers.collect();
        assert_eq!(numbers, [80, 95, 700, 5, 10, 90].map(Some));
        assert_eq!(number_in("x > y", &THRESHOLDS[0]), None);
    }
}
