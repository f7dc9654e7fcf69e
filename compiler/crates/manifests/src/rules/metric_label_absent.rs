//! A selector of a GPU metric requires a label that the metric does not have.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases::quoted_conjunction;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use promql_parser::parser::{Expr, LabelModifier, VectorSelector};

use crate::promql::{
    has_other_exporter, is_dcgm_metric, metric_name, required_selectors, selector, visit,
};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4107",
        name: "manifest-metric-label-absent",
        severity: Severity::Warning,
        summary: "a selector of a GPU metric requires a label or job that its series do not have",
        checks: "Whether selectors of GPU metrics in PrometheusRules require the labels `exported_pod`, `exported_namespace` and
`exported_container`, or a `job` that no exporter has. Only clusters with `monitoring` and no other
dcgm-exporter are checked.",
        reason: "The PodMonitors of gpuc keep the labels of the exporter (`honorLabels`), so `pod`, `namespace` and `container`
identify the pod that uses the GPU. The labels with the prefix `exported_`, and job names such as
`nvidia-dcgm-exporter`, come from ServiceMonitors of other installations. The selector matches no series, and
the alert never fires.",
        remedy: "Remove the prefix, or write the job from the help.",
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
        - alert: GpuIdlePod
          expr: DCGM_FI_DEV_GPU_UTIL{exported_pod!=""} < 5
"#,
        correction: Correction::Replace(
            r#"exported_pod!="""#,
            r#"pod!="""#,
        ),
    },
    run,
};

/// The prefix of the labels of an exporter that Prometheus replaced by those of the target.
const PREFIX: &str = "exported_";

/// The labels that it replaces.
const LABELS: &[&str] = &["exported_container", "exported_namespace", "exported_pod"];

/// A label that no series has.
struct AbsentLabel {
    /// The matcher or the label.
    text: String,
    help: String,
}

// The labels of series: `gpuc_compile::lower::monitoring`, its PodMonitors.
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let Some(exported) = &ctx.cluster.exported_metrics else {
        return;
    };
    if ctx.expressions.is_empty() || has_other_exporter(ctx) {
        return;
    }
    for expression in &ctx.expressions {
        let Ok(parsed) = &expression.parsed else {
            continue;
        };
        let required = required_selectors(parsed);
        let gpu_metrics = required.iter().filter(|it| is_gpu_metric(it));
        let mut found: Vec<_> = gpu_metrics
            .filter_map(|it| absent_label(it, &exported.jobs))
            .collect();
        let mut selector_count = 0;
        visit(parsed, &mut |it| {
            selector_count += usize::from(selector(it).is_some());
            found.extend(absent_grouping(it));
        });
        // With alternatives, an expression may be for several installations.
        if required.len() < selector_count {
            continue;
        }
        let Some(label) = found.first() else {
            continue;
        };
        let message = format!("{}: no GPU metric has `{}`", expression.title(), label.text);
        report
            .diagnostic(&RULE.code, expression.node.span(), message)
            .primary_label("the monitors of gpuc keep the labels of the exporter")
            .help(label.help.as_str())
            .emit();
    }
}

fn is_gpu_metric(selector: &VectorSelector) -> bool {
    metric_name(selector).is_some_and(is_dcgm_metric)
}

/// The matcher that no series fulfills.
fn absent_label(selector: &VectorSelector, jobs: &BTreeSet<&'static str>) -> Option<AbsentLabel> {
    let mut matchers = selector.matchers.matchers.iter();
    matchers.find_map(|matcher| {
        let name = matcher.name.as_str();
        let text = format!("{name}{}\"{}\"", matcher.op, matcher.value);
        if LABELS.contains(&name) && !matcher.is_match("") {
            let help = format!("write `{}`", text.trim_start_matches(PREFIX));
            return Some(AbsentLabel { text, help });
        }
        let is_other_job = name == "job" && !jobs.iter().any(|job| matcher.is_match(job));
        is_other_job.then(|| {
            let jobs: Vec<_> = jobs.iter().map(|job| format!("job=\"{job}\"")).collect();
            AbsentLabel {
                text,
                help: format!("write {}", quoted_conjunction(&jobs, "or")),
            }
        })
    })
}

/// The label by which GPU metrics are grouped although none has it.
fn absent_grouping(expression: &Expr) -> Option<AbsentLabel> {
    let Expr::Aggregate(aggregate) = expression else {
        return None;
    };
    let Some(LabelModifier::Include(labels)) = &aggregate.modifier else {
        return None;
    };
    let name = labels
        .labels
        .iter()
        .find(|it| LABELS.contains(&it.as_str()))?;
    let mut only_gpu_metrics = true;
    visit(&aggregate.expr, &mut |it| {
        only_gpu_metrics &= match it {
            Expr::Call(it) => !it.func.name.starts_with("label_"),
            Expr::Aggregate(_) | Expr::Binary(_) => false,
            _ => selector(it).is_none_or(is_gpu_metric),
        };
    });
    only_gpu_metrics.then(|| AbsentLabel {
        text: name.clone(),
        help: format!("write `{}`", name.trim_start_matches(PREFIX)),
    })
}
