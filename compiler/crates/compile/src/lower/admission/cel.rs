//! CEL expressions that several policies share, also those of teams.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::{KubernetesVersion, Pool, scheduling};

/// The variable with all containers, including init and ephemeral containers.
pub(super) const CONTAINERS: &str = "containers";

/// The variable with the limits and the requests of each container, as a list of maps.
pub(super) const REQUEST_LISTS: &str = "lists";

/// A CEL string literal.
pub(super) fn string_literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// A CEL list of string literals.
pub(in crate::lower) fn string_list<S: AsRef<str>>(all: impl IntoIterator<Item = S>) -> String {
    let all: Vec<_> = all
        .into_iter()
        .map(|it| string_literal(it.as_ref()))
        .collect();
    format!("[{}]", all.join(", "))
}

/// The pod's spec, its containers and their resources. `dyn` keeps the API server from type-checking every expression
/// against the schema of every kind.
pub(in crate::lower) fn variables() -> Vec<(String, String)> {
    let all = [
        (
            "spec",
            "object.kind == 'Pod' ? dyn(object).spec : \
             object.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec.template.spec : \
             dyn(object).spec.template.spec",
        ),
        (
            CONTAINERS,
            "variables.spec.containers + variables.spec.?initContainers.orValue([]) + \
             variables.spec.?ephemeralContainers.orValue([])",
        ),
        (
            REQUEST_LISTS,
            "variables.containers.map(c, c.?resources.?limits.orValue({})) + \
             variables.containers.map(c, c.?resources.?requests.orValue({}))",
        ),
    ];
    all.map(|(name, it)| (name.to_owned(), it.to_owned()))
        .into()
}

/// Whether a resource name denotes, or is intended to denote, a GPU or a part of one.
pub(super) fn gpu_resource_condition(name: &str) -> String {
    format!(
        "({name} == 'alpha.kubernetes.io/nvidia-gpu' || \
         {name}.matches('^nvidia[.]com/(?i:mig-|.*gpu)') || \
         {name}.matches('^deviceclass[.]resource[.]kubernetes[.]io/.*[.]gpuc[.]dev$'))"
    )
}

/// Whether a pod requests a GPU, by its resources or by a ResourceClaim.
pub(in crate::lower) fn gpu_request_condition() -> String {
    format!(
        "(size(variables.spec.?resourceClaims.orValue([])) > 0 || variables.{REQUEST_LISTS}.exists(list, list.exists(name, \
         {} && string(list[name]) != '0')))",
        gpu_resource_condition("name")
    )
}

/// The pools whose nodes have each resource, in their order, with the number per node: the resources of device plugins,
/// and those of DeviceClasses, for which Kubernetes creates ResourceClaims. `nvidia.com/gpu` is omitted if the class of
/// NVIDIA's chart has this name: its amount does not depend on the pools alone.
pub(super) fn pools_by_resource<'c>(
    cluster: &'c Checked<'_>,
) -> BTreeMap<String, Vec<(&'c Pool, u32)>> {
    let mut advertised: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for pool in &cluster.pools {
        for resource in pool
            .advertised
            .expect_resolved()
            .iter()
            .chain(&pool.interconnect)
        {
            let pools = advertised.entry(resource.name.clone()).or_default();
            pools.push((pool, resource.per_node));
        }
    }
    if !has_bridged_gpus(cluster) {
        return advertised;
    }
    if cluster.class_of_resource(GPU).is_none() {
        advertised.remove(GPU);
    }
    let pools_of = |class: &str| -> Vec<(&Pool, u32)> {
        let pools = cluster.pools.iter().filter_map(|pool| {
            let devices = scheduling::devices_of_class(cluster, pool, class)?;
            let devices = u32::try_from(devices).ok().filter(|devices| *devices > 0)?;
            Some((pool, devices))
        });
        pools.collect()
    };
    for class in cluster.pools.iter().flat_map(|pool| &pool.classes) {
        if let Some(name) = class.implicit_resource() {
            advertised.insert(name, pools_of(&class.name));
        }
    }
    for (_, class, name) in cluster.extended_classes() {
        let pools = advertised.entry(name.to_owned()).or_default();
        pools.extend(pools_of(&class.name));
        pools.sort_by_key(|(pool, _)| pool.index);
    }
    advertised
}

/// The resource of full GPUs, and of everything else advertised under this name.
pub(super) const GPU: &str = "nvidia.com/gpu";

/// Whether Kubernetes creates a ResourceClaim for a request of `nvidia.com/gpu` or of a DeviceClass, because NVIDIA's
/// DRA driver allocates GPUs.
pub(super) fn has_bridged_gpus(cluster: &Checked<'_>) -> bool {
    let is_new = cluster.kubernetes.expect_resolved().value
        >= KubernetesVersion::FIRST_WITH_DRA_EXTENDED_RESOURCES;
    is_new && cluster.dra_pools().next().is_some()
}

/// Joins names: `a, b and c`.
pub(super) fn conjunction<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
