//! Checks manifests: runs the rules, and drops findings that are allowed or may be wrong.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_syntax::diag::{Code, Report, Severity};
use gpuc_syntax::source::Sources;

use super::allow_annotations::{self, span_contains};
use super::claims::ClaimIndex;
use super::context::CheckContext;
use super::namespace_limits::LimitRangeCache;
use super::object::Object;
use super::read::Manifests;
use super::rules::{self, RULES};
use super::services::ScalerIndex;
use super::{api_validation, pods, promql, scheduling, yaml_aliases};

/// Checks manifests against a cluster. Does nothing if the cluster has unresolved values.
pub fn check(cluster: &Cluster, manifests: &Manifests, sources: &Sources, report: &mut Report) {
    if cluster
        .pools
        .iter()
        .any(|pool| pool.advertised.is_unresolved())
    {
        return;
    }
    let objects = &manifests.objects;
    let kustomized = manifests.patched_objects(sources);
    let applied: Vec<&Object> = (0..)
        .zip(objects)
        .filter(|(index, _)| !kustomized.contains(index))
        .map(|(_, object)| object)
        .collect();
    let pods: Vec<_> = applied.iter().flat_map(|it| pods::find_pods(it)).collect();
    let claims = ClaimIndex::from_objects(objects);
    let ctx = CheckContext {
        cluster,
        objects,
        unschedulable: scheduling::unschedulable_pods(cluster, &claims, &pods),
        kustomized: kustomized.clone(),
        is_namespace_set: manifests.kustomizations.iter().any(|it| it.sets_namespace),
        are_labels_added: manifests.kustomizations.iter().any(|it| it.sets_labels),
        allow_annotations: allow_annotations::find_allow_annotations(applied),
        claims,
        limit_ranges: LimitRangeCache::default(),
        scalers: ScalerIndex::from_objects(objects),
        expressions: promql::read_expressions(objects),
        pods,
        incomplete: &manifests.incomplete,
        skipped: &manifests.skipped,
        sources,
    };
    let reported_before = report.diagnostics().len();
    for rule in RULES {
        (rule.run)(&ctx, report);
    }
    let mut found = report.diagnostics_mut().split_off(reported_before);
    // Nodes behind an alias are found several times, and reported once.
    let mut reported = BTreeSet::new();
    found.retain(|it| reported.insert((it.code.id, it.primary.span)));
    let patched: Vec<_> = kustomized
        .iter()
        .map(|it| objects[*it].root.span())
        .collect();
    found.retain(|it| {
        !patched
            .iter()
            .any(|root| span_contains(*root, it.primary.span))
    });
    for finding in &mut found {
        yaml_aliases::restrict_edits(finding, &manifests.aliased_spans);
    }
    let unused = allow_annotations::apply_allow_annotations(&ctx.allow_annotations, &mut found);
    report.diagnostics_mut().append(&mut found);
    let is_warning = |word: &str| {
        let mut warnings = rules::rule_codes().filter(|it| it.severity == Severity::Warning);
        warnings.any(|it| it.is_called(word))
    };
    for (span, word) in unused.into_iter().filter(|(_, word)| is_warning(word)) {
        let message = format!("unused `gpuc.dev/allow`: the object has no warning `{word}`");
        let builder = report.diagnostic(rules::UNUSED_ALLOW_CODE, span, message);
        builder.help("remove the name").emit();
    }
}

/// Whether the audit of patches reports a finding separately: those about several objects together, Pod Security
/// Standards, and the definitions of custom resources.
pub fn is_reported_by_audit(code: &Code) -> bool {
    let mut rules = rules::TOTALS_RULES
        .iter()
        .chain([&rules::SECURITY_RULE, &rules::DEFINITIONS_RULE]);
    rules.any(|rule| rule.code.id == code.id)
}

/// The code for unknown schedulers.
pub fn scheduler_unknown_code() -> &'static Code {
    &rules::SCHEDULER_RULE.code
}

/// Whether a finding is about fields that Kubernetes cannot read, which may cause other findings.
pub(super) fn is_unreadable_code(code: &Code) -> bool {
    code.id == rules::UNREADABLE_RULE.code.id
}

/// Custom resources that rules check, in addition to those that create pods.
const CHECKED_CUSTOM_KINDS: &[(&str, &str)] = &[
    ("keda.sh", "ScaledObject"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
    promql::RULE_KIND,
    ("ray.io", "RayCluster"),
    ("ray.io", "RayJob"),
    ("ray.io", "RayService"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("resource.nvidia.com", "ComputeDomain"),
    ("serving.kserve.io", "InferenceService"),
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
    ("sparkoperator.k8s.io", "SparkApplication"),
];

/// Whether any rule checks an object, except that it can be read.
pub fn is_checked(object: &Object) -> bool {
    let is_kind = |it: &(&str, &str)| object.is_in_group(it.0) && object.kind == it.1;
    api_validation::can_validate(object)
        || CHECKED_CUSTOM_KINDS.iter().any(is_kind)
        || !pods::find_pods(object).is_empty()
}
