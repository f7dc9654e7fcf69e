//! A LimitRange among the manifests rejects a pod or a PersistentVolumeClaim.

use gpuc_model::scheduling::QuotaResource;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use crate::namespace_limits::{EffectiveAmount, EffectiveResources, LimitRangeItem, LimitRanges};
use crate::object::Object;
use crate::{CheckContext, Pod, Rule, volumes};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4085",
        name: "manifest-limit-range-violated",
        severity: Severity::Error,
        summary: "a LimitRange among the manifests rejects a pod or a PersistentVolumeClaim",
        checks: "Whether the requests and limits of containers, pods and PersistentVolumeClaims are within every LimitRange
of their namespace among the manifests: `min`, `max` and `maxLimitRequestRatio`. Containers without their
own values get the defaults of the LimitRanges, including those that gpuc generates from `teams`: `default`,
`defaultRequest`, and the defaults that Kubernetes derives from `min` and `max`.

Resources with different defaults in two LimitRanges are not checked. Neither are LimitRanges that a
kustomization changes or that appear in several files.",
        reason: "The API server rejects the pod. It accepts a Deployment or a Job, which then never gets a pod.",
        remedy: "Change the request to a value that the LimitRange allows, or change the LimitRange.",
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
kind: LimitRange
metadata: {name: small, namespace: web}
spec:
  limits: [{type: Container, max: {cpu: 2}}]
---
apiVersion: v1
kind: Pod
metadata: {name: page, namespace: web}
spec:
  containers:
    - name: page
      image: registry.example.com/page:1.0.0
      resources: {limits: {cpu: 4}}
"#,
        correction: Correction::Replace("{cpu: 4", "{cpu: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for (object, bytes, span) in volumes::claim_objects(ctx) {
        check_claim(ctx, object, (bytes, span), report);
    }
    for pod in ctx.pods.iter().filter(|it| !it.is_partial) {
        let ranges = LimitRanges::for_object(ctx, pod.object);
        // Resources of the pod as a whole change the defaults of its containers.
        let Some(ranges) = ranges.filter(|_| pod.spec.get("resources").is_none()) else {
            continue;
        };
        if ranges.manifest_items().next().is_some() {
            check_pod(pod, &ranges, report);
        }
    }
}

fn check_pod<'s>(pod: &Pod<'s>, ranges: &LimitRanges<'s>, report: &mut Report) {
    let containers = pod.containers.iter().map(|container| {
        let name = container.node.entry("name");
        let span = name.map_or(container.node.span(), |it| it.value.span());
        let resources = EffectiveResources::for_container(container.node, ranges);
        (
            format!(": container `{}`", container.name()),
            span,
            resources,
        )
    });
    let containers: Vec<_> = containers.collect();
    let whole_pod = EffectiveResources::for_pod(pod.spec, ranges).map(|resources| {
        let span = pod.spec.get("containers").map(Node::span);
        let span = span.unwrap_or_else(|| pod.spec.span());
        [(": the pod".to_owned(), span, resources)]
    });
    for (range, item) in ranges.manifest_items() {
        let limited = match item.applies_to {
            "Container" => &containers[..],
            "Pod" => whole_pod.as_ref().map_or(&[][..], |it| &it[..]),
            _ => &[],
        };
        for (subject, span, resources) in limited {
            for violation in violations(resources, item) {
                violation.report((pod.object, range), subject, *span, report);
            }
        }
    }
}

/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `PersistentVolumeClaimValidateLimitFunc`
/// (from memory).
fn check_claim(
    ctx: &CheckContext<'_>,
    object: &Object,
    (bytes, span): (u64, Span),
    report: &mut Report,
) {
    let request = EffectiveAmount {
        amount: bytes.saturating_mul(1000),
        span,
        is_default: false,
    };
    let mut resources = EffectiveResources::default();
    resources.requests.insert("storage", request);
    resources.limits.insert("storage", request);
    let Some(ranges) = LimitRanges::for_object(ctx, object) else {
        return;
    };
    let items = ranges
        .manifest_items()
        .filter(|(_, it)| it.applies_to == "PersistentVolumeClaim");
    for (range, item) in items {
        for violation in violations(&resources, item) {
            violation.report((object, range), "", span, report);
        }
    }
}

/// A violation of a LimitRange.
struct RangeViolation<'s> {
    resource: &'s str,
    /// The requested amount, or the limit; `None` if it is not set.
    requested: Option<EffectiveAmount>,
    /// The value in the LimitRange.
    bound: EffectiveAmount,
    constraint: Constraint,
}

#[derive(Clone, Copy)]
enum Constraint {
    Min,
    Max,
    Ratio,
}

/// The violations of a container's or a pod's resources.
///
/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `minConstraint`, `maxConstraint` and
/// `limitRequestRatioConstraint`; that those of pods count sums: `PodValidateLimitFunc` (from memory).
fn violations<'s>(
    resources: &EffectiveResources<'s>,
    item: &LimitRangeItem<'s>,
) -> Vec<RangeViolation<'s>> {
    let mut found = Vec::new();
    let own = |name: &str| (resources.requests.get(name), resources.limits.get(name));
    let mut add = |resource: &'s str,
                   requested: Option<&EffectiveAmount>,
                   bound: &EffectiveAmount,
                   constraint: Constraint| {
        if !resources.unknown.contains(resource) {
            found.push(RangeViolation {
                resource,
                requested: requested.copied(),
                bound: *bound,
                constraint,
            });
        }
    };
    for (name, min) in &item.min {
        let (request, _) = own(name);
        if request.is_none_or(|it| it.amount < min.amount) {
            add(name, request, min, Constraint::Min);
        }
    }
    for (name, max) in &item.max {
        let (request, limit) = own(name);
        let exceeds = |it: &&EffectiveAmount| it.amount > max.amount;
        let exceeding = limit.filter(exceeds).or_else(|| request.filter(exceeds));
        if limit.is_none() || exceeding.is_some() {
            add(name, exceeding, max, Constraint::Max);
        }
    }
    for (name, ratio) in &item.ratio {
        let (request, limit) = own(name);
        let is_within = |limit: &EffectiveAmount, request: &EffectiveAmount| {
            let max = u128::from(request.amount) * u128::from(ratio.amount);
            u128::from(limit.amount) * 1000 <= max && limit.amount > 0 && request.amount > 0
        };
        if !limit.zip(request).is_some_and(|(a, b)| is_within(a, b)) {
            add(name, limit.or(request), ratio, Constraint::Ratio);
        }
    }
    found
}

impl RangeViolation<'_> {
    /// Reports the violation. `subject` follows the object's title, and `fallback` is the span if no value is written.
    fn report(
        &self,
        (object, range): (&Object, &Object),
        subject: &str,
        fallback: Span,
        report: &mut Report,
    ) {
        let Self {
            resource,
            bound,
            constraint,
            ..
        } = self;
        let (key, help) = match constraint {
            Constraint::Min => ("min", "request more, or lower `min` of the LimitRange"),
            Constraint::Max => ("max", "request less, or raise `max` of the LimitRange"),
            Constraint::Ratio => (
                "maxLimitRequestRatio",
                "request an amount closer to the limit, or raise `maxLimitRequestRatio` of the LimitRange",
            ),
        };
        let limit = format!("`{key}` of {}", range.title());
        let problem = match (self.requested, constraint) {
            (Some(it), Constraint::Min) => {
                format!(
                    "requests {}, less than {limit}",
                    format_amount(resource, it.amount)
                )
            }
            (Some(it), Constraint::Max) => {
                format!(
                    "requests {}, more than {limit}",
                    format_amount(resource, it.amount)
                )
            }
            (Some(_), Constraint::Ratio) => format!("violates {limit} for `{resource}`"),
            (None, Constraint::Max) => format!("has no limit for `{resource}`, despite {limit}"),
            (None, _) => format!("has no request for `{resource}`, despite {limit}"),
        };
        let message = format!("{}{subject} {problem}", object.title());
        let written = self.requested.filter(|it| !it.is_default);
        let span = written.map_or(fallback, |it| it.span);
        let mut builder = report.diagnostic(&RULE.code, span, message);
        if let Some(default) = self.requested.filter(|it| it.is_default) {
            builder = builder.label(default.span, "the default of containers without a value");
        }
        let label = match constraint {
            Constraint::Min => format!("at least {}", format_amount(resource, bound.amount)),
            Constraint::Max => format!("at most {}", format_amount(resource, bound.amount)),
            Constraint::Ratio => "the maximum ratio of limit to request".to_owned(),
        };
        builder.label(bound.span, label).help(help).emit();
    }
}

/// An amount of a resource as a phrase.
pub(super) fn format_amount(name: &str, thousandths: u64) -> String {
    let rounded_up = thousandths.div_ceil(1000);
    match name {
        "cpu" => QuotaResource::Cpu.format_amount(thousandths),
        "memory" => QuotaResource::Memory.format_amount(rounded_up),
        "storage" => QuotaResource::Storage.format_amount(rounded_up),
        "ephemeral-storage" => format!(
            "{} of ephemeral storage",
            gpuc_model::scheduling::gib(rounded_up)
        ),
        name => QuotaResource::Device(name.to_owned()).format_amount(rounded_up),
    }
}
