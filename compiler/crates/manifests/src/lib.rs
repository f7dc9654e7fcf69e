//! Checks Kubernetes manifests that users wrote against a cluster.
//!
//! [`Manifests`] are the objects of some files with their spans. [`check`] runs the rules, one file each, and [`mend`]
//! applies the edits of diagnostics to the files. Rules do not report values that may come from a template, a patch or
//! another object.
//!
//! An error means that the API server rejects the object, that no node can run it, or that it has no effect; a warning
//! means that it works for some users.

mod allowed;
mod api_validation;
mod api_versions;
mod claims;
mod embedded_yaml;
mod fix;
mod gang_scheduling;
mod installed;
mod jobs;
mod json_stream;
mod kustomize;
mod limits;
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

pub use fix::{Mended, mend};
pub use pod::{Container, Pod};
pub use read::{Manifests, Object, PassedOver, Why};
pub use rules::{CODES, RULES};

/// A rule: its code and explanation, and its check function.
#[derive(Debug)]
pub struct Rule {
    /// The code. An example is a cluster, and the manifest after a line of [`MANIFEST`](gpuc_syntax::diag::MANIFEST).
    pub code: Code,
    run: fn(&Scene<'_>, &mut Report),
}

/// The context of the rules.
pub(crate) struct Scene<'s> {
    /// The cluster that the objects are for.
    pub(crate) cluster: &'s Cluster,
    /// All objects.
    pub(crate) objects: &'s [Object],
    /// The indices of the objects that kustomizations change.
    pub(crate) changed: BTreeSet<usize>,
    /// The annotations that allow warnings.
    pub(crate) allowed: Vec<allowed::Allowed<'s>>,
    /// The claims among the objects.
    pub(crate) claims: claims::Given<'s>,
    /// All pods that the objects define.
    pub(crate) pods: Vec<Pod<'s>>,
    /// The pods that no pool fits.
    pub(crate) unplaced: Vec<scheduling::Unplaced<'s>>,
    /// Documents that lack `apiVersion` or `kind`.
    pub(crate) nearly: &'s [Node],
    /// Skipped documents: patches among them may add missing fields.
    pub(crate) passed_over: &'s [PassedOver],
    /// The texts.
    pub(crate) sources: &'s Sources,
}

/// Checks manifests against a cluster. Does nothing if the cluster has unresolved values.
pub fn check(cluster: &Cluster, manifests: &Manifests, sources: &Sources, report: &mut Report) {
    if cluster.pools.iter().any(|pool| pool.offers.is_unresolved()) {
        return;
    }
    let objects = &manifests.objects;
    let layered = manifests.layered(sources);
    let applied: Vec<&Object> = (0..)
        .zip(objects)
        .filter(|(index, _)| !layered.contains(index))
        .map(|(_, object)| object)
        .collect();
    let pods: Vec<_> = applied.iter().flat_map(|it| pods::pods(it)).collect();
    let claims = claims::Given::from_objects(objects);
    let scene = Scene {
        cluster,
        objects,
        unplaced: scheduling::unplaced(cluster, &claims, &pods),
        changed: layered.clone(),
        allowed: allowed::all(applied),
        claims,
        pods,
        nearly: &manifests.nearly,
        passed_over: &manifests.passed_over,
        sources,
    };
    let before = report.diagnostics().len();
    for rule in RULES {
        (rule.run)(&scene, report);
    }
    let mut found = report.diagnostics_mut().split_off(before);
    // Nodes behind an alias are found several times, and reported once.
    let mut reported = BTreeSet::new();
    found.retain(|it| reported.insert((it.code.id, it.primary.span)));
    let patched: Vec<_> = layered.iter().map(|it| objects[*it].root.span()).collect();
    found.retain(|it| !patched.iter().any(|root| holds(*root, it.primary.span)));
    for finding in &mut found {
        yaml_aliases::restrict_edits(finding, &manifests.shared);
    }
    let unused = allowed::mark(&scene.allowed, &mut found);
    report.diagnostics_mut().append(&mut found);
    let is_warning = |word: &str| {
        let mut warnings = rules::codes().filter(|it| it.severity == Severity::Warning);
        warnings.any(|it| it.is_called(word))
    };
    for (span, word) in unused.into_iter().filter(|(_, word)| is_warning(word)) {
        let message = format!("unused `gpuc.dev/allow`: the object has no warning `{word}`");
        let builder = report.diagnostic(rules::UNUSED, span, message);
        builder.help("remove the name").emit();
    }
}

/// Whether the audit of patches reports a finding separately: those about several objects together, Pod Security
/// Standards, and the definitions of custom resources.
pub fn is_audited(code: &Code) -> bool {
    let mut rules = rules::SUMS
        .iter()
        .chain([&rules::SECURITY, &rules::DEFINITIONS]);
    rules.any(|rule| rule.code.id == code.id)
}

/// The code for unknown schedulers.
pub fn scheduler_unknown() -> &'static Code {
    &rules::SCHEDULER.code
}

/// Whether one span is within another.
fn holds(whole: Span, part: Span) -> bool {
    whole.source == part.source && whole.start <= part.start && part.end <= whole.end
}

/// Whether a finding is about fields that Kubernetes cannot read, which may cause other findings.
fn is_of_names(code: &Code) -> bool {
    code.id == rules::NAMES.code.id
}

/// Custom resources that rules check, in addition to those that create pods.
const LOOKED_INTO: &[(&str, &str)] = &[
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
pub fn is_looked_into(object: &Object) -> bool {
    let of_others = |it: &(&str, &str)| object.is_of(it.0) && object.kind == it.1;
    api_validation::is_known(object)
        || LOOKED_INTO.iter().any(of_others)
        || !pods::pods(object).is_empty()
}

impl<'s> Scene<'s> {
    /// The pools that advertise a resource.
    fn advertising(&self, resource: &str) -> Vec<&'s Pool> {
        let pools = self.cluster.pools.iter();
        let advertises = |pool: &&Pool| {
            let offers = pool.offers.get().into_iter().flatten();
            let mut offers = offers.chain(&pool.fabric);
            offers.any(|offer| offer.resource == resource)
        };
        pools.filter(advertises).collect()
    }

    /// The entries of `spec.hard` of all ResourceQuotas.
    fn quotas(&self) -> impl Iterator<Item = (&'s Object, &'s Entry)> {
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
