//! No Prometheus selects a monitor of GPU metrics.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Code, Correction, Severity};
use serde_json::Value;

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7902",
        name: "monitor-not-selected",
        severity: Severity::Warning,
        summary: "no Prometheus selects a monitor of GPU metrics",
        checks: "Whether the selectors of a Prometheus of the Prometheus operator match the labels of each \
ServiceMonitor and PodMonitor for GPU metrics, and the labels of its namespace.",
        reason: "A monitor that no Prometheus selects has no effect: the metrics are absent, and no error says why.",
        remedy: "Add the label that the selector requires, often `release` with the name of the Helm release of \
kube-prometheus-stack. In a tree of gpuc, set `monitoring.prometheus.existing.release`.",
        bad: r"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: monitoring.coreos.com/v1
    kind: Prometheus
    metadata: {name: main, namespace: monitoring}
    spec:
      serviceMonitorSelector: {matchLabels: {release: prometheus}}
      serviceMonitorNamespaceSelector: {}
  - apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {name: dcgm-exporter, namespace: gpu, labels: {app: dcgm-exporter}}
    spec: {selector: {matchLabels: {app: dcgm-exporter}}, endpoints: [{port: metrics}]}
",
        correction: Correction::Replace(
            "labels: {app: dcgm-exporter}}
    spec",
            "labels: {app: dcgm-exporter, release: prometheus}}
    spec",
        ),
    },
    layer: Layer::Monitoring,
    is_symptom: false,
    needs: &[Kind::Prometheus, Kind::ServiceMonitor, Kind::PodMonitor],
    needs_logs: Logs::None,
    run,
};

/// The parts of names by which a monitor is about GPUs.
const GPU_NAMES: &[&str] = &["dcgm", "gpuc-runtime", "nvidia", "gpu-operator"];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let servers = ctx.state.objects(Kind::Prometheus);
    if servers.is_empty() || !ctx.state.completeness(Kind::Prometheus).is_complete() {
        return;
    }
    // Without any selector, the configuration of the server is not managed by the operator.
    if servers.iter().any(is_unmanaged) {
        return;
    }
    for (kind, field) in [
        (Kind::ServiceMonitor, "serviceMonitor"),
        (Kind::PodMonitor, "podMonitor"),
    ] {
        for monitor in ctx.state.objects(kind) {
            let name = monitor.metadata.name.as_str();
            if !GPU_NAMES.iter().any(|part| name.contains(part)) {
                continue;
            }
            let mut judgements = servers
                .iter()
                .map(|server| judge(ctx, server, monitor, field));
            let first = judgements.next().flatten();
            let Some(first) = first.filter(|_| judgements.all(|it| it.is_some())) else {
                continue;
            };
            findings.push(report(kind, monitor, &first));
        }
    }
}

/// Why a server does not select a monitor.
struct Refusal {
    server: ObjectRef,
    path: String,
    selector: String,
    is_namespace: bool,
}

/// Why a server does not select a monitor; `None` if it does, or if that is not known.
fn judge(ctx: &Context<'_>, server: &Object, monitor: &Object, field: &str) -> Option<Refusal> {
    let refusal = |path: String, selector: &Value, is_namespace| Refusal {
        server: ObjectRef::of_kind("Prometheus", &server.metadata),
        path,
        selector: selector.to_string(),
        is_namespace,
    };
    let selector = server.get(&format!("/spec/{field}Selector"));
    if !matches(selector, &monitor.metadata.labels)? {
        return Some(refusal(format!("spec.{field}Selector"), selector, false));
    }
    let selector = server.get(&format!("/spec/{field}NamespaceSelector"));
    let namespace = &monitor.metadata.namespace;
    if namespace == &server.metadata.namespace {
        return None;
    }
    let is_selected = match selector {
        // Only the server's own namespace.
        Value::Null => false,
        selector if is_empty(selector) => true,
        selector => {
            let namespace = ctx.state.object(Kind::Namespace, "", namespace)?;
            matches(selector, &namespace.metadata.labels)?
        }
    };
    (!is_selected).then(|| refusal(format!("spec.{field}NamespaceSelector"), selector, true))
}

fn report(kind: Kind, monitor: &Object, refusal: &Refusal) -> Finding {
    let object = ObjectRef::of_kind(kind.info().name, &monitor.metadata);
    let labels = monitor.metadata.labels.iter();
    let labels: Vec<_> = labels
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    let server = refusal.server.full_name();
    let (message, help) = if refusal.is_namespace {
        (
            format!("the Prometheus `{server}` does not select the namespace of the monitor"),
            "add the labels that the selector requires to the namespace, or set the selector to `{}`",
        )
    } else {
        (
            format!("the Prometheus `{server}` does not select the monitor"),
            "add the labels that the selector requires to the monitor",
        )
    };
    Finding::new(&CHECK.code, object.clone(), message)
        .field(refusal.server.clone(), &refusal.path, &refusal.selector)
        .field(object, "metadata.labels", labels.join(", "))
        .help(help)
        .command(format!(
            "kubectl get prometheus --namespace {} {} -o yaml",
            refusal.server.namespace, refusal.server.name
        ))
}

/// Whether a server has no selector at all.
///
/// Source: prometheus-operator `pkg/apis/monitoring/v1/prometheus_types.go` (from memory), 2026-11-28.
fn is_unmanaged(server: &Object) -> bool {
    let fields = ["serviceMonitor", "podMonitor", "probe", "scrapeConfig"];
    let mut selectors = fields
        .iter()
        .map(|field| server.get(&format!("/spec/{field}Selector")));
    selectors.all(Value::is_null)
}

fn is_empty(selector: &Value) -> bool {
    selector.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Whether a label selector matches labels; an absent selector matches nothing. `None` if an operator is not known.
fn matches(selector: &Value, labels: &BTreeMap<String, String>) -> Option<bool> {
    if selector.is_null() {
        return Some(false);
    }
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    for (key, value) in wanted {
        if labels.get(key).map(String::as_str) != value.as_str() {
            return Some(false);
        }
    }
    let expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    for expression in expressions {
        let label = labels.get(expression["key"].as_str()?);
        let mut values = expression["values"].as_array().into_iter().flatten();
        let is_listed = values.any(|it| label.is_some_and(|label| it == label.as_str()));
        let is_met = match expression["operator"].as_str()? {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            _ => return None,
        };
        if !is_met {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    const SELECTOR: &str = "{matchLabels: {release: prometheus}}";

    #[test]
    fn selectors_follow_the_rules_of_kubernetes() {
        for (selector, is_selected) in [
            ("{}", true),
            ("{matchExpressions: [{key: app, operator: Exists}]}", true),
            (
                "{matchExpressions: [{key: app, operator: DoesNotExist}]}",
                false,
            ),
            (
                "{matchExpressions: [{key: app, operator: In, values: [dcgm-exporter]}]}",
                true,
            ),
            (
                "{matchExpressions: [{key: app, operator: NotIn, values: [dcgm-exporter]}]}",
                false,
            ),
            ("{matchExpressions: [{key: app, operator: Unknown}]}", true),
        ] {
            let (codes, text) = check(SELECTOR, selector);
            assert_eq!(codes.is_empty(), is_selected, "{selector}: {text}");
        }
    }

    #[test]
    fn only_monitors_of_gpus_count() {
        let (codes, text) = check(
            "{name: dcgm-exporter, namespace: gpu",
            "{name: shop, namespace: gpu",
        );
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn an_absent_namespace_selector_selects_the_own_namespace_only() {
        let objects =
            "{matchLabels: {release: prometheus}}\n      serviceMonitorNamespaceSelector: {}";
        let (codes, text) = check(objects, "{}");
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("does not select the namespace"), "{text}");
        let (codes, text) = check(
            &format!("namespace: monitoring}}\n    spec:\n      serviceMonitorSelector: {objects}"),
            "namespace: gpu}\n    spec:\n      serviceMonitorSelector: {}",
        );
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn servers_without_selectors_are_configured_elsewhere() {
        let (codes, text) = check("serviceMonitorSelector", "otherSelector");
        assert!(codes.is_empty(), "{text}");
    }
}
