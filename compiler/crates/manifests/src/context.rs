//! The context of the rules: the cluster, the objects of the manifests, and what several rules derive from them.

use std::collections::BTreeSet;

use gpuc_model::{Cluster, Pool};
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::Sources;

use super::allow_annotations::AllowAnnotation;
use super::claims::ClaimIndex;
use super::namespace_limits::LimitRangeCache;
use super::object::Object;
use super::pod::Pod;
use super::promql::RuleExpression;
use super::read::SkippedDocument;
use super::scheduling::UnschedulablePod;
use super::services::ScalerIndex;

/// The context of the rules.
pub(crate) struct CheckContext<'s> {
    /// The cluster that the objects are for.
    pub(crate) cluster: &'s Cluster,
    /// All objects.
    pub(crate) objects: &'s [Object],
    /// The indices of the objects that kustomizations change.
    pub(crate) kustomized: BTreeSet<usize>,
    /// Whether a kustomization among the manifests sets the namespace of objects.
    pub(crate) is_namespace_set: bool,
    /// Whether a kustomization among the manifests adds labels to objects.
    pub(crate) are_labels_added: bool,
    /// The annotations that allow warnings.
    pub(crate) allow_annotations: Vec<AllowAnnotation<'s>>,
    /// The claims among the objects.
    pub(crate) claims: ClaimIndex<'s>,
    /// The autoscalers among the objects.
    pub(crate) scalers: ScalerIndex<'s>,
    /// The LimitRanges of the namespaces.
    pub(crate) limit_ranges: LimitRangeCache<'s>,
    /// The expressions of the PrometheusRules.
    pub(crate) expressions: Vec<RuleExpression<'s>>,
    /// All pods that the objects define.
    pub(crate) pods: Vec<Pod<'s>>,
    /// The pods that no pool fits.
    pub(crate) unschedulable: Vec<UnschedulablePod<'s>>,
    /// Documents that lack `apiVersion` or `kind`.
    pub(crate) incomplete: &'s [Node],
    /// Skipped documents: patches among them may add missing fields.
    pub(crate) skipped: &'s [SkippedDocument],
    /// The texts.
    pub(crate) sources: &'s Sources,
}

impl<'s> CheckContext<'s> {
    /// The pools that advertise a resource.
    pub(crate) fn pools_advertising(&self, resource: &str) -> Vec<&'s Pool> {
        let pools = self.cluster.pools.iter();
        let advertises = |pool: &&Pool| {
            let mut interconnect = pool.interconnect.iter();
            pool.has_extended_resource(resource)
                || interconnect.any(|advertised| advertised.name == resource)
        };
        pools.filter(advertises).collect()
    }

    /// The entries of `spec.hard` of all ResourceQuotas.
    pub(crate) fn quota_entries(&self) -> impl Iterator<Item = (&'s Object, &'s Entry)> {
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
