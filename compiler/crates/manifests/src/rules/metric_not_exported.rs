//! An expression queries a GPU metric that no exporter has.

use std::collections::BTreeSet;

use gpuc_model::metrics::dcgm::{DcgmMetric, dcgm_metric};
use gpuc_model::metrics::{ExportedMetrics, MetricList};
use gpuc_syntax::diag::phrases::{closest_match, quoted_conjunction, quoted_list};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::promql::{
    has_other_exporter, is_dcgm_metric, metric_name, recorded_series, required_selectors,
};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4106",
        name: "manifest-metric-not-exported",
        severity: Severity::Warning,
        summary: "an expression of a PrometheusRule queries a GPU metric that no exporter has",
        checks: "Whether the exporters that gpuc installs for `monitoring` have the metrics of dcgm-exporter that expressions in
PrometheusRules query. Alternatives of `or` and arguments of `absent` are not checked, nor are manifests with
another dcgm-exporter.",
        reason: "dcgm-exporter exports only the metrics in its list. gpuc lists those that the alerts and dashboards query, and
the list of the chart contains less than half of the fields. An alert about another metric never fires, without
an error.",
        remedy: "Add the metric to the list of the exporter, as the help says. Profiling metrics (`DCGM_FI_PROF_`) also need the
capability `SYS_ADMIN`. The alerts of gpuc need all lines of its own list. If another exporter has the metric,
allow the finding with the annotation `gpuc.dev/allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
monitoring: {prometheus: {existing: {release: kube-prometheus-stack}}}
--- # manifest.yaml
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: gpus, namespace: research}
spec:
  groups:
    - name: gpus
      rules:
        - alert: GpuMemoryClock
          expr: DCGM_FI_DEV_MEM_CLOCK < 500
"#,
        correction: Correction::Replace(
            "DCGM_FI_DEV_MEM_CLOCK < 500",
            "DCGM_FI_DEV_SM_CLOCK < 500",
        ),
    },
    run,
};

/// The maximum number of metrics that a message names.
const MAX_NAMED: usize = 3;

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let Some(exported) = &ctx.cluster.exported_metrics else {
        return;
    };
    if ctx.expressions.is_empty() || has_other_exporter(ctx) {
        return;
    }
    let recorded: BTreeSet<_> = recorded_series(ctx.objects).collect();
    for expression in &ctx.expressions {
        let Ok(parsed) = &expression.parsed else {
            continue;
        };
        let selectors = required_selectors(parsed).into_iter();
        let is_missing = |name: &&str| {
            is_dcgm_metric(name) && !exported.names.contains(*name) && !recorded.contains(name)
        };
        let missing: BTreeSet<_> = selectors
            .filter_map(metric_name)
            .filter(is_missing)
            .collect();
        let Some(first) = missing.first() else {
            continue;
        };
        let missing: Vec<_> = missing.iter().copied().collect();
        let message = format!(
            "{}: no exporter of the cluster has {}",
            expression.title(),
            quoted_list(&missing, MAX_NAMED)
        );
        report
            .diagnostic(&RULE.code, expression.node.span(), message)
            .primary_label("the expression has no result")
            .help(help(exported, first))
            .emit();
    }
}

fn help(exported: &ExportedMetrics, name: &str) -> String {
    let Some(metric) = dcgm_metric(name) else {
        let names: Vec<_> = exported.names.iter().map(String::as_str).collect();
        // `DCGM_FI_DEV_GPU_TEMPERATURE`
        let mut begins = names.iter().copied().filter(|it| name.starts_with(it));
        let closest = || {
            let closest = closest_match(name, names.iter().copied())?;
            // Fields with other words are other metrics.
            let words = |name: &str| name.matches('_').count();
            (words(closest) == words(name) && closest.len().abs_diff(name.len()) <= 1)
                .then_some(closest)
        };
        return match begins.next().or_else(closest) {
            Some(meant) => format!("write `{meant}`"),
            None => format!("query one of {}", quoted_list(&names, MAX_NAMED)),
        };
    };
    if exported.lists.is_empty() {
        return "gpuc-runtime has fixed metrics: write `exporter: dcgm` in `monitoring`, and check again".to_owned();
    }
    let helps: Vec<_> = exported
        .lists
        .iter()
        .map(|it| addition(it, metric))
        .collect();
    helps.join("; ")
}

/// How to add a metric to a list.
fn addition(list: &MetricList, metric: &DcgmMetric) -> String {
    let releases = quoted_conjunction(&list.releases, "and");
    let values = format!("charts.{}.values", list.chart);
    let capability = if list.can_profile || !metric.is_profiling() {
        String::new()
    } else {
        format!(
            ", and write `securityContext: {{capabilities: {{add: [SYS_ADMIN]}}}}` in `{values}`"
        )
    };
    format!(
        "copy `{}` from the values of {releases} to `{values}`, and add the line `{}`{capability}",
        list.key,
        metric.csv_line()
    )
}
