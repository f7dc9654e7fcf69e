//! Notes on pods that request GPUs of DeviceClasses as extended resources.

use gpuc_model::check::Checked;
use gpuc_model::{DeviceClass, Pool, scheduling};

/// The resource of full GPUs.
const GPU: &str = "nvidia.com/gpu";

/// One note for each extended resource that has a DeviceClass: which pools serve it, and what counts it.
pub(crate) fn extended_resource_notes(cluster: &Checked<'_>) -> Vec<String> {
    if !cluster.bridges_extended_resources() {
        return Vec::new();
    }
    let named = cluster.extended_classes();
    let mut notes: Vec<String> = (named.iter())
        .map(|(_, class, name)| served_by_class(cluster, class, name))
        .collect();
    if !named.iter().any(|(_, _, name)| *name == GPU) {
        notes.push(served_by_driver(cluster));
    }
    notes
}

/// The note on a resource that a DeviceClass of gpuc has.
fn served_by_class(cluster: &Checked<'_>, class: &DeviceClass, name: &str) -> String {
    let has_devices = |pool: &&Pool| {
        scheduling::devices_of_class(cluster, pool, &class.name).is_some_and(|count| count > 0)
    };
    let served: Vec<&Pool> = cluster.dra_pools().filter(has_devices).collect();
    let mut note = format!(
        "Containers request {name} of {} without a ResourceClaim: Kubernetes creates one of DeviceClass {}. A \
         ResourceQuota counts it as requests.{name} and as {}.",
        pool_list(&served),
        class.name,
        class.quota_resource()
    );
    let others: Vec<&Pool> = cluster
        .dra_pools()
        .filter(|pool| name == GPU && !has_devices(pool))
        .collect();
    if !others.is_empty() {
        note += &format!(
            " Kubernetes knows one DeviceClass for a name, so that requests for {name} get no GPUs of {}.",
            pool_list(&others)
        );
    }
    let advertising: Vec<&Pool> = (cluster.gpu_pools().map(|(pool, _)| pool))
        .filter(|pool| {
            let mut advertised = pool.advertised.expect_resolved().iter();
            advertised.any(|resource| resource.name == name)
        })
        .collect();
    if !advertising.is_empty() {
        note += &format!(
            " The device plugin of {} advertises the same name, so that a pod without a node selector may run there.",
            pool_list(&advertising)
        );
    }
    note
}

/// The note on `nvidia.com/gpu` of the class that NVIDIA's chart creates.
fn served_by_driver(cluster: &Checked<'_>) -> String {
    let limited = cluster
        .teams
        .iter()
        .any(|team| team.grants().next().is_some());
    let mut note = format!(
        "This Kubernetes version creates a ResourceClaim for a container that requests {GPU}: a full GPU of any of these \
         pools that the pod may run on."
    );
    if limited {
        note += " In the namespaces of a team with a GPU quota, that claim is rejected: it would not count for any \
                 pool. To count it, set extendedResources in the stack of a pool.";
    }
    note
}

fn pool_list(pools: &[&Pool]) -> String {
    let names = pools.iter().map(|pool| pool.name.as_str());
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [only] => format!("pool {only}"),
        names => format!("pools {}", names.join(", ")),
    }
}
