//! An object exceeds a ResourceQuota among the manifests.

use std::collections::BTreeMap;

use gpuc_model::scheduling::{QuotaResource, thousandths_of_node};
use gpuc_syntax::diag::{Code, Correction, DiagnosticBuilder, Report, Severity};
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::Span;

use super::limit_range_violated::format_amount;
use super::quota_exceeded::{Excess, ExcessKind, concurrent_pods};
use crate::namespace_limits::{
    EffectiveAmount, EffectiveResources, LimitRanges, objects_in_namespace,
};
use crate::object::Object;
use crate::{CheckContext, Pod, Rule, jobs, volumes};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4086",
        name: "manifest-resource-quota-exceeded",
        severity: Severity::Error,
        summary: "an object exceeds a ResourceQuota among the manifests",
        checks: "Whether the pods that an object creates at once stay within each ResourceQuota of their namespace among the
manifests, and within its `pods`. Whether each PersistentVolumeClaim stays within `requests.storage`.
Containers without their own values get the defaults of the namespace's LimitRanges.

Only one pod of a Job counts, because its pods may run one after the other; `manifest-job-over-quota`
reports Jobs that cannot run all of their pods at once. Quotas with scopes, quotas that a kustomization
changes and quotas that appear in several files are not checked.",
        reason: "The API server rejects the excess pods, whatever the quota of the team in `gpu-cluster.yaml` is: the lowest
quota of a namespace applies.",
        remedy: "Request less, or raise the quota.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: web}
spec:
  hard: {requests.cpu: 2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: page, namespace: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: page}}
  template:
    metadata: {labels: {app: page}}
    spec:
      containers:
        - name: page
          image: registry.example.com/page:1.0.0
          resources: {limits: {cpu: 1}}
"#,
        correction: Correction::Replace("requests.cpu: 2", "requests.cpu: 3"),
    },
    run,
};

/// Resources that quotas count as requests if the name has no prefix.
const STANDARD_RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    check_claims(ctx, report);
    let excess = Excess {
        kind: ExcessKind::Never,
        code: &RULE.code,
    };
    check(ctx, excess, report);
}

/// The meaning of a key in a quota.
///
/// Source: kubernetes `pkg/quota/v1/evaluator/core/pods.go`, `podResources` and `podComputeUsageHelper`
/// (from memory).
enum CountedResource<'q> {
    Pods,
    Requests(&'q str),
    Limits(&'q str),
}

fn parse_counted_resource(name: &str) -> Option<CountedResource<'_>> {
    if ["pods", "count/pods"].contains(&name) {
        return Some(CountedResource::Pods);
    }
    if let Some(name) = name.strip_prefix("requests.") {
        return (name != "storage").then_some(CountedResource::Requests(name));
    }
    if let Some(name) = name.strip_prefix("limits.") {
        return STANDARD_RESOURCES
            .contains(&name)
            .then_some(CountedResource::Limits(name));
    }
    let is_plain = STANDARD_RESOURCES.contains(&name) || name.starts_with("hugepages-");
    is_plain.then_some(CountedResource::Requests(name))
}

/// An entry of a ResourceQuota.
struct HardLimit<'s> {
    /// The ResourceQuota.
    quota: &'s Object,
    /// The entry of `spec.hard`.
    entry: &'s Entry,
    /// The maximum in thousandths of its unit.
    max: u64,
}

/// The entries of the quotas that apply to an object; of several with the same key, the smallest.
fn limits<'s>(ctx: &CheckContext<'s>, object: &Object) -> Vec<HardLimit<'s>> {
    let quotas = objects_in_namespace(ctx, "ResourceQuota", object)
        .into_iter()
        .flatten();
    let specs = quotas.filter_map(|quota| Some((quota, quota.root.get("spec")?)));
    let has_scopes = |spec: &Node| {
        let mut keys = ["scopes", "scopeSelector"].iter();
        keys.any(|key| spec.get(key).is_some())
    };
    let entries = specs
        .filter(|(_, spec)| !has_scopes(spec))
        .flat_map(|(quota, spec)| {
            let hard = spec.get("hard").map_or(&[][..], Node::entries).iter();
            hard.filter_map(move |entry| {
                let max = thousandths_of_node(&entry.value)?;
                Some(HardLimit { quota, entry, max })
            })
        });
    let mut smallest: BTreeMap<&str, HardLimit<'_>> = BTreeMap::new();
    for limit in entries {
        let other = smallest.get(limit.entry.key.as_str());
        if other.is_none_or(|other| limit.max < other.max) {
            smallest.insert(&limit.entry.key, limit);
        }
    }
    smallest.into_values().collect()
}

/// Checks the total of all pods of an object.
pub(super) fn check(ctx: &CheckContext<'_>, excess: Excess, report: &mut Report) {
    let mut limits_by_namespace = BTreeMap::new();
    for pod in ctx.pods.iter().filter(|it| !it.is_partial) {
        let limits = limits_by_namespace
            .entry(pod.object.namespace.as_deref())
            .or_insert_with(|| limits(ctx, pod.object));
        if limits.is_empty() || pod.spec.get("containers").is_none() {
            continue;
        }
        let ranges = LimitRanges::for_object(ctx, pod.object);
        let Some(filled) = ranges.and_then(|it| EffectiveResources::for_pod(pod.spec, &it)) else {
            continue;
        };
        let usage = Usage { pod, filled };
        for limit in limits.iter() {
            check_limit(ctx, &usage, limit, excess, report);
        }
    }
}

/// A pod with its requests and limits, including defaults.
struct Usage<'s> {
    pod: &'s Pod<'s>,
    filled: EffectiveResources<'s>,
}

fn check_limit(
    ctx: &CheckContext<'_>,
    Usage { pod, filled }: &Usage<'_>,
    limit: &HardLimit<'_>,
    excess: Excess,
    report: &mut Report,
) {
    let HardLimit { quota, entry, max } = *limit;
    let Some(counted) = parse_counted_resource(&entry.key) else {
        return;
    };
    let (name, amount) = match counted {
        CountedResource::Pods => (None, None),
        CountedResource::Requests(name) => (Some(name), filled.requests.get(name)),
        CountedResource::Limits(name) => (Some(name), filled.limits.get(name)),
    };
    let each = match (name, amount) {
        (None, _) => 1000,
        (Some(name), Some(amount)) if !filled.unknown.contains(name) => amount.amount,
        _ => return,
    };
    let copies = concurrent_pods(ctx, pod);
    let all = each.saturating_mul(copies.pods);
    let in_turn = jobs::job_spec(pod.object).is_some() && each <= max;
    if all <= max || ExcessKind::from_is_sequential(in_turn) != excess.kind {
        return;
    }
    let phrase = |thousandths: u64| match name {
        None => QuotaResource::Pods.format_amount(thousandths.div_ceil(1000)),
        Some(name) => format_amount(name, thousandths),
    };
    let total = if name.is_some() && copies.pods > 1 {
        format!(
            "{} pods with {} each need {}",
            copies.pods,
            phrase(each),
            phrase(all)
        )
    } else {
        phrase(all)
    };
    let problem = match excess.kind {
        ExcessKind::Never => "exceeds",
        ExcessKind::Sequential => "cannot run all of its pods at once within",
    };
    let message = format!("{} {problem} {}: {total}", pod.title(), quota.title());
    let written = amount.filter(|it| !it.is_default).map(|it| it.span);
    let containers = || pod.spec.get("containers").map(Node::span);
    let span = written.or(copies.span).or_else(containers);
    let span = span.unwrap_or_else(|| pod.spec.span());
    let builder = report.diagnostic(excess.code, span, message);
    let builder = label_default(builder, amount);
    let builder = builder.label(entry.value.span(), format!("at most {}", phrase(max)));
    let help = match excess.kind {
        ExcessKind::Never => "request less, or raise the quota",
        ExcessKind::Sequential => "lower `parallelism`, or raise the quota",
    };
    builder.help(help).emit();
}

/// Labels the default that an amount comes from.
fn label_default<'r>(
    builder: DiagnosticBuilder<'r>,
    amount: Option<&EffectiveAmount>,
) -> DiagnosticBuilder<'r> {
    match amount.filter(|it| it.is_default) {
        Some(default) => builder.label(default.span, "the default of containers without a value"),
        None => builder,
    }
}

fn check_claims(ctx: &CheckContext<'_>, report: &mut Report) {
    let mut limits_by_namespace = BTreeMap::new();
    for (object, bytes, span) in volumes::claim_objects(ctx) {
        let limits = limits_by_namespace
            .entry(object.namespace.as_deref())
            .or_insert_with(|| limits(ctx, object));
        check_claim(limits, object, bytes.saturating_mul(1000), span, report);
    }
}

fn check_claim(
    limits: &[HardLimit<'_>],
    object: &Object,
    request: u64,
    span: Span,
    report: &mut Report,
) {
    for HardLimit { quota, entry, max } in limits {
        if entry.key != "requests.storage" || request <= *max {
            continue;
        }
        let (title, quota) = (object.title(), quota.title());
        let message = format!(
            "{title} exceeds {quota}: {}",
            format_amount("storage", request)
        );
        let label = format!("at most {}", format_amount("storage", *max));
        report
            .diagnostic(&RULE.code, span, message)
            .label(entry.value.span(), label)
            .help("request less, or raise the quota")
            .emit();
    }
}
