//! Kubernetes manifests that others wrote, held against a cluster.
//!
//! [`Manifests`] are the objects of some files, each at its place. [`check`] looks at them by one file a rule, and
//! [`mend`] applies the edits that findings carry to the files' texts. What cannot be known from a manifest, because a
//! template, a patch or another object says it, keeps a rule quiet.
//!
//! An error is what the API server refuses, what no node can run, or what is accepted and does nothing; a warning is
//! what works for somebody.

mod allowed;
mod claims;
mod completed;
mod edit;
mod find;
mod gangs;
mod inside;
mod installed;
mod jobs;
mod layers;
mod limits;
mod mend;
mod near;
mod operators;
mod place;
mod pod;
mod ray;
mod read;
mod refused;
mod resources;
mod rules;
mod served;
mod services;
mod sets;
mod shared;
mod stream;
mod template;
mod told;
mod volumes;
mod wrap;

use std::collections::BTreeSet;

use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};
use crate::node::{Entry, Node};
use crate::source::{Sources, Span};

pub use mend::{Mended, mend};
pub use pod::{Container, Pod};
pub use read::{Manifests, Object, PassedOver, Why};
pub use rules::{CODES, RULES};

/// A rule: its page, and the function that looks.
#[derive(Debug)]
pub struct Rule {
    /// Its page. An example is a cluster, and the manifest after a line of [`MANIFEST`](crate::diag::MANIFEST).
    pub code: Code,
    run: fn(&Scene<'_>, &mut Report),
}

/// What rules look at.
pub(crate) struct Scene<'s> {
    /// The cluster that the objects are for.
    pub(crate) cluster: &'s Cluster,
    /// Every object.
    pub(crate) objects: &'s [Object],
    /// Those that kustomizations change, by their place.
    pub(crate) changed: BTreeSet<usize>,
    /// What they allow of themselves.
    pub(crate) allowed: Vec<allowed::Allowed<'s>>,
    /// The claims among them.
    pub(crate) claims: claims::Given<'s>,
    /// Every pod that objects make.
    pub(crate) pods: Vec<Pod<'s>>,
    /// The pods that no pool holds.
    pub(crate) unplaced: Vec<place::Unplaced<'s>>,
    /// What would be objects, if they said what they are.
    pub(crate) nearly: &'s [Node],
    /// What was read beside them and is none: patches may bring what they lack.
    pub(crate) passed_over: &'s [PassedOver],
    /// The texts.
    pub(crate) sources: &'s Sources,
}

/// Holds manifests against a cluster that was understood whole; says nothing where it was not.
pub fn check(cluster: &Cluster, manifests: &Manifests, sources: &Sources, report: &mut Report) {
    if cluster.pools.iter().any(|pool| pool.offers.is_hole()) {
        return;
    }
    let objects = &manifests.objects;
    let layered = manifests.layered(sources);
    let whole = objects.iter().enumerate();
    let whole = whole.filter(|(index, _)| !layered.contains(index));
    let pods: Vec<_> = whole.flat_map(|(_, it)| find::pods(it)).collect();
    let claims = claims::Given::of(objects);
    let certain = objects.iter().enumerate();
    let certain = certain.filter(|(index, _)| !layered.contains(index));
    let scene = Scene {
        cluster,
        objects,
        unplaced: place::unplaced(cluster, &claims, &pods),
        changed: layered.clone(),
        allowed: allowed::all(certain.map(|(_, it)| it)),
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
    // What aliases bring to several places is found at each of them, and stands once.
    let mut said = BTreeSet::new();
    found.retain(|it| said.insert((it.code.id, it.primary.span)));
    let patched: Vec<_> = layered.iter().map(|it| objects[*it].root.span()).collect();
    found.retain(|it| !patched.iter().any(|root| holds(*root, it.primary.span)));
    for finding in &mut found {
        shared::keep(finding, &manifests.shared);
    }
    let unused = allowed::mark(&scene.allowed, &mut found);
    report.diagnostics_mut().append(&mut found);
    let is_warning = |word: &str| {
        let mut warnings = rules::codes().filter(|it| it.severity == Severity::Warning);
        warnings.any(|it| it.name == word || it.id == word)
    };
    for (span, word) in unused.into_iter().filter(|(_, word)| is_warning(word)) {
        let message = format!("`{word}` is allowed here and not found");
        let draft = report.draft(rules::UNUSED, span, message);
        draft.help("remove the word").emit();
    }
}

/// Whether a finding is one that the audit of patches looks for by itself: about several objects together, about
/// the security of their namespace, or about what the definitions of custom resources say.
pub(crate) fn is_audited(code: &Code) -> bool {
    let mut rules = rules::SUMS
        .iter()
        .chain([&rules::SECURITY, &rules::DEFINITIONS]);
    rules.any(|rule| rule.code.id == code.id)
}

/// The finding about schedulers of which nothing is known.
pub(crate) fn scheduler_unknown() -> &'static Code {
    &rules::SCHEDULER.code
}

/// Whether one place is within another.
fn holds(whole: Span, part: Span) -> bool {
    whole.source == part.source && whole.start <= part.start && part.end <= whole.end
}

/// Whether a finding is about what Kubernetes cannot read, which others may follow from.
fn is_of_names(code: &Code) -> bool {
    code.id == rules::NAMES.code.id
}

/// Kinds of others that rules look into, beside those that make pods.
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

/// Whether anything is asked of an object, beside that it can be read.
pub fn is_looked_into(object: &Object) -> bool {
    let of_others = |it: &(&str, &str)| object.is_of(it.0) && object.kind == it.1;
    refused::is_known(object) || LOOKED_INTO.iter().any(of_others) || !find::pods(object).is_empty()
}

impl<'s> Scene<'s> {
    /// The pools that offer a resource.
    fn offering(&self, resource: &str) -> Vec<&'s Pool> {
        let pools = self.cluster.pools.iter();
        let offers = |pool: &&Pool| {
            let offers = pool.offers.get().into_iter().flatten();
            let mut offers = offers.chain(&pool.fabric);
            offers.any(|offer| offer.resource == resource)
        };
        pools.filter(offers).collect()
    }

    /// What each `ResourceQuota` limits, entry by entry.
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
