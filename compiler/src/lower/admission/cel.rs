//! The words of CEL that several policies use.

use std::collections::BTreeMap;

use crate::check::Checked;
use crate::model::{KubernetesVersion, Pool};

/// Every container that runs, those before the others too.
pub(super) const CONTAINERS: &str = "containers";

/// What each container asks for, its limits and its requests one after the other: maps.
pub(super) const LISTS: &str = "lists";

/// A text in CEL.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// A list of texts in CEL.
pub(super) fn texts<S: AsRef<str>>(all: impl IntoIterator<Item = S>) -> String {
    let all: Vec<_> = all.into_iter().map(|it| text(it.as_ref())).collect();
    format!("[{}]", all.join(", "))
}

/// The pod's spec, its containers and what they ask for. `dyn` keeps the API server from holding every expression
/// against the fields of every kind.
pub(super) fn variables() -> Vec<(String, String)> {
    let all = [
        (
            "spec",
            "object.kind == 'Pod' ? dyn(object).spec : \
             object.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec.template.spec : \
             dyn(object).spec.template.spec",
        ),
        (
            CONTAINERS,
            "variables.spec.containers + variables.spec.?initContainers.orValue([])",
        ),
        (
            LISTS,
            "variables.containers.map(c, c.?resources.?limits.orValue({})) + \
             variables.containers.map(c, c.?resources.?requests.orValue({}))",
        ),
    ];
    all.map(|(name, it)| (name.to_owned(), it.to_owned()))
        .into()
}

/// Whether a name is, or is meant to be, a GPU or a part of one.
pub(super) fn is_gpu(name: &str) -> String {
    format!(
        "({name} == 'alpha.kubernetes.io/nvidia-gpu' || \
         {name}.matches('^nvidia[.]com/(?i:mig-|.*gpu)') || \
         {name}.matches('^deviceclass[.]resource[.]kubernetes[.]io/.*[.]gpuc[.]dev$'))"
    )
}

/// Whether a pod asks for a GPU, in its resources or by a claim.
pub(super) fn asks_for_gpus() -> String {
    format!(
        "(size(variables.spec.?resourceClaims.orValue([])) > 0 || variables.{LISTS}.exists(list, list.exists(name, \
         {} && string(list[name]) != '0')))",
        is_gpu("name")
    )
}

/// The pools that offer each resource by a device plugin, in their order, with how many a node has. A resource that
/// Kubernetes makes claims of as well is left out: how many there are of it depends on more than pools.
pub(super) fn offers<'c>(cluster: &'c Checked<'_>) -> BTreeMap<&'c str, Vec<(&'c Pool, u32)>> {
    let mut offers: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for pool in &cluster.pools {
        for offer in pool.offers.sure().iter().chain(&pool.fabric) {
            let pools = offers.entry(&offer.resource).or_default();
            pools.push((pool, offer.per_node));
        }
    }
    if is_bridged(cluster) {
        offers.remove(GPU);
    }
    offers
}

/// Whole GPUs, and all else that is called so.
pub(super) const GPU: &str = "nvidia.com/gpu";

/// Whether Kubernetes makes a claim for who asks for `nvidia.com/gpu`, where NVIDIA's driver hands out GPUs.
pub(super) fn is_bridged(cluster: &Checked<'_>) -> bool {
    let is_new = cluster.kubernetes.sure().value >= KubernetesVersion::FIRST_WITH_BRIDGE;
    is_new && cluster.pools_claimed().next().is_some()
}

/// Names in a sentence, `a, b and c`.
pub(super) fn words<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
