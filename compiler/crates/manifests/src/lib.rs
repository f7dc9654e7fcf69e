//! Checks Kubernetes manifests that users wrote against a cluster.
//!
//! [`Manifests`] are the objects of some files with their spans. [`check`] runs the rules, one file each, and
//! [`fix_files`] applies the edits of diagnostics to the files. Rules do not report values that may come from a
//! template, a patch or another object.
//!
//! An error means that the API server rejects the object, that no node can run it, or that it has no effect; a warning
//! means that it works for some users.

mod allow_annotations;
mod api_validation;
mod api_versions;
mod claims;
mod embedded_yaml;
mod fix;
mod gang_scheduling;
mod installed_projects;
mod jobs;
mod json_stream;
mod kustomize;
mod namespace_limits;
mod nest;
mod operator_pods;
mod pod;
mod pod_affinity;
mod pod_sets;
mod pods;
mod ray;
mod read;
mod resources;
mod rules;
mod scheduling;
mod services;
mod template;
mod text_edit;
mod unchecked;
mod volumes;
mod yaml_aliases;

use std::collections::BTreeSet;

use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Report, Severity};
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::{Sources, Span};

pub use fix::{FixedFiles, fix_files};
pub use pod::{Container, Pod};
pub use read::{Manifests, Object, SkipReason, SkippedDocument};
pub use rules::{CODES, RULES};

/// A rule: its code and explanation, and its check function.
#[derive(Debug)]
pub struct Rule {
    /// The code. An example is a cluster, and the manifest after a line of
    /// [`MANIFEST_SEPARATOR`](gpuc_syntax::diag::MANIFEST_SEPARATOR).
    pub code: Code,
    run: fn(&CheckContext<'_>, &mut Report),
}

/// The context of the rules.
pub(crate) struct CheckContext<'s> {
    /// The cluster that the objects are for.
    pub(crate) cluster: &'s Cluster,
    /// All objects.
    pub(crate) objects: &'s [Object],
    /// The indices of the objects that kustomizations change.
    pub(crate) kustomized: BTreeSet<usize>,
    /// The annotations that allow warnings.
    pub(crate) allow_annotations: Vec<allow_annotations::AllowAnnotation<'s>>,
    /// The claims among the objects.
    pub(crate) claims: claims::ClaimIndex<'s>,
    /// All pods that the objects define.
    pub(crate) pods: Vec<Pod<'s>>,
    /// The pods that no pool fits.
    pub(crate) unschedulable: Vec<scheduling::UnschedulablePod<'s>>,
    /// Documents that lack `apiVersion` or `kind`.
    pub(crate) incomplete: &'s [Node],
    /// Skipped documents: patches among them may add missing fields.
    pub(crate) skipped: &'s [SkippedDocument],
    /// The texts.
    pub(crate) sources: &'s Sources,
}

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
    let claims = claims::ClaimIndex::from_objects(objects);
    let ctx = CheckContext {
        cluster,
        objects,
        unschedulable: scheduling::unschedulable_pods(cluster, &claims, &pods),
        kustomized: kustomized.clone(),
        allow_annotations: allow_annotations::find_allow_annotations(applied),
        claims,
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

/// Whether one span is within another.
fn span_contains(whole: Span, part: Span) -> bool {
    whole.source == part.source && whole.start <= part.start && part.end <= whole.end
}

/// Whether a finding is about fields that Kubernetes cannot read, which may cause other findings.
fn is_unreadable_code(code: &Code) -> bool {
    code.id == rules::UNREADABLE_RULE.code.id
}

/// Custom resources that rules check, in addition to those that create pods.
const CHECKED_CUSTOM_KINDS: &[(&str, &str)] = &[
    ("keda.sh", "ScaledObject"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
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

impl<'s> CheckContext<'s> {
    /// The pools that advertise a resource.
    fn pools_advertising(&self, resource: &str) -> Vec<&'s Pool> {
        let pools = self.cluster.pools.iter();
        let advertises = |pool: &&Pool| {
            let offers = pool.advertised.get().into_iter().flatten();
            let mut offers = offers.chain(&pool.interconnect);
            offers.any(|offer| offer.resource == resource)
        };
        pools.filter(advertises).collect()
    }

    /// The entries of `spec.hard` of all ResourceQuotas.
    fn quota_entries(&self) -> impl Iterator<Item = (&'s Object, &'s Entry)> {
        let quotas = self
            .objects
            .iter()
            .filter(|object| object.kind == "ResourceQuota");
        quotas.flat_map(|object| {
            let hard = object.root.get("spec").and_then(|spec| spec.get("hard"));
            let entries = hard.map_or(&[][..], Node::entries);
            entries.iter().map(move |entry| (object, entry))
        })
    }
}
