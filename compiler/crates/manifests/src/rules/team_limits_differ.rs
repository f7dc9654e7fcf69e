//! A ResourceQuota or LimitRange among the manifests differs from the team's quota or limits in the file.

use gpuc_model::scheduling::{QuotaResource, resource_limits, thousandths_of_node};
use gpuc_model::{Amounts, Cluster, Grant, Quantity, Team};
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Entry, Node};

use crate::generated_objects::is_generated;
use crate::object::Object;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4057",
        name: "manifest-team-limits-differ",
        severity: Severity::Warning,
        summary: "a ResourceQuota or LimitRange among the manifests differs from the file's values for the team",
        checks: "Whether a ResourceQuota or LimitRange in a team's namespace has another value than the team's `quota` or
`limits` in the file, for which gpuc generates its own ResourceQuota and LimitRange. Values that only one of
the two sets are not checked, nor are quotas with scopes.",
        reason: "Kubernetes enforces every ResourceQuota and LimitRange. Of two quotas or maximums the lower one applies; of
two defaults, the first one that is applied. The team does not get the quota in the file.",
        remedy: "Remove the object, and write the intended value in the file.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
--- # manifest.yaml
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus, namespace: research}
spec:
  hard: {requests.nvidia.com/gpu: 2}
"#,
        correction: Correction::Replace("guaranteed: 4", "guaranteed: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for object in ctx.objects.iter().filter(|it| !is_generated(it)) {
        let namespace = object.namespace.as_deref();
        let Some((team, index)) = namespace.and_then(|it| ctx.cluster.team_of_namespace(it)) else {
            continue;
        };
        match object.kind.as_str() {
            "ResourceQuota" => check_quota(ctx.cluster, object, team, index, report),
            "LimitRange" => check_range(object, team, report),
            _ => {}
        }
    }
}

/// The resource behind a quota's key, except devices, with the number of thousandths in its unit.
fn parse_quota_key(name: &str) -> Option<(QuotaResource, u64)> {
    Some(match name {
        "cpu" | "requests.cpu" => (QuotaResource::Cpu, 1),
        "memory" | "requests.memory" => (QuotaResource::Memory, 1000),
        "pods" | "count/pods" => (QuotaResource::Pods, 1000),
        "requests.storage" => (QuotaResource::Storage, 1000),
        _ => return None,
    })
}

fn check_quota(cluster: &Cluster, object: &Object, team: &Team, index: usize, report: &mut Report) {
    let Some(spec) = object.root.get("spec") else {
        return;
    };
    if ["scopes", "scopeSelector"]
        .iter()
        .any(|key| spec.get(key).is_some())
    {
        return;
    }
    let is_only = team.namespaces.len() == 1;
    for entry in spec.get("hard").map_or(&[][..], Node::entries) {
        let Some(written) = thousandths_of_node(&entry.value) else {
            continue;
        };
        let expected = if let Some((resource, unit)) = parse_quota_key(&entry.key) {
            let mut own = resource_limits(cluster, team)
                .into_iter()
                .filter(|it| it.resource == resource);
            let applies = |namespace: Option<&str>| match namespace {
                Some(name) => name == team.namespaces[index].as_str(),
                None => is_only,
            };
            let Some(own) = own.find(|it| applies(it.namespace)) else {
                continue;
            };
            Expected {
                thousandths: own.amount.saturating_mul(unit),
                text: own.resource.format_amount(own.amount),
                span: own.span,
                reason: QUOTA_REASON,
            }
        } else {
            let name = entry.key.strip_prefix("requests.");
            let is_counted = |grant: &&Grant| {
                grant.quota_name == entry.key
                    || name.is_some() && cluster.extended_resource_of(grant) == name
            };
            let grants = team.grants().filter(is_counted);
            let applies = |namespace: Option<usize>| namespace.map_or(is_only, |it| it == index);
            let grants: Vec<_> = grants.filter(|it| applies(it.namespace)).collect();
            let Some(first) = grants.first() else {
                continue;
            };
            let limits = grants.iter().map(|it| u64::from(it.limit.value));
            let limit = limits.fold(0, u64::saturating_add);
            Expected {
                thousandths: limit.saturating_mul(1000),
                text: limit.to_string(),
                span: first.span,
                reason: QUOTA_REASON,
            }
        };
        if written != expected.thousandths {
            report_difference(object, team, entry, "hard", &expected, report);
        }
    }
}

/// Compares each list of a LimitRange with the file.
fn check_range(object: &Object, team: &Team, report: &mut Report) {
    let limits = team.limits.as_ref();
    let none = Amounts::default();
    let max = limits.and_then(|it| it.max.as_ref()).unwrap_or(&none);
    let default = limits.and_then(|it| it.default.as_ref()).unwrap_or(&none);
    let defaults = "the first of two defaults applies";
    let lists = [
        ("default", [default, max], defaults),
        ("defaultRequest", [&team.default_request, &none], defaults),
        ("max", [max, &none], "the lower of two maximums applies"),
    ];
    let items = object.root.get("spec").and_then(|it| it.get("limits"));
    for item in items.map_or(&[][..], Node::items) {
        if item.get("type").and_then(Node::text) != Some("Container") {
            continue;
        }
        for (list, own, reason) in lists {
            for entry in item.get(list).map_or(&[][..], Node::entries) {
                let written = thousandths_of_node(&entry.value);
                let mut own = own.into_iter().filter_map(|it| quantity(it, &entry.key));
                let Some((written, own)) = written.zip(own.next()) else {
                    continue;
                };
                let Some(limit) = own.thousandths() else {
                    continue;
                };
                let expected = Expected {
                    thousandths: limit,
                    text: format!("`{}`", own.text),
                    span: own.span,
                    reason,
                };
                if written != expected.thousandths {
                    report_difference(object, team, entry, list, &expected, report);
                }
            }
        }
    }
}

fn quantity<'a>(amounts: &'a Amounts, key: &str) -> Option<&'a Quantity> {
    match key {
        "cpu" => amounts.cpu.as_ref(),
        "memory" => amounts.memory.as_ref(),
        _ => None,
    }
}

/// The value in the file.
struct Expected {
    /// The value in thousandths of its unit.
    thousandths: u64,
    /// The value, for messages.
    text: String,
    /// The location in the file.
    span: Span,
    /// The reason why the difference matters.
    reason: &'static str,
}

/// The reason why a different quota matters.
const QUOTA_REASON: &str = "the lower of two quotas applies";

fn report_difference(
    object: &Object,
    team: &Team,
    entry: &Entry,
    list: &str,
    expected: &Expected,
    report: &mut Report,
) {
    let value = entry.value.text().unwrap_or_default();
    let message = format!(
        "{} sets `{list}.{}: {value}`, but the file sets {} for team `{}`",
        object.title(),
        entry.key,
        expected.text,
        team.name
    );
    report
        .diagnostic(&RULE.code, entry.value.span(), message)
        .primary_label(expected.reason)
        .label(expected.span, "the value in the file")
        .help("remove it here, and write the intended value in the file")
        .emit();
}
