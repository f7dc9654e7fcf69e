//! What `verify.sh` looks for, pool by pool.

use std::collections::BTreeMap;

use super::claims;
use super::device_plugin::daemon_set;
use super::node_config::access;
use crate::chart;
use crate::check::Checked;
use crate::cloud::Injection;
use crate::model::{Claimed, DeviceClass, POOL_LABEL, Pool};
use crate::plan::{Expectation, ExpectedDevices, Object, Release};

/// One expectation for each pool, given what the tree has for them.
pub(super) fn expectations(
    cluster: &Checked<'_>,
    objects: &[Object],
    releases: &[Release],
) -> Vec<Expectation> {
    let mut daemon_sets = daemon_sets(objects, releases);
    let pools = cluster.pools.iter();
    pools
        .map(|pool| {
            let own = daemon_sets.remove(pool.name.value.as_str());
            let operators = chart::operator_daemon_sets(cluster, pool);
            Expectation {
                daemon_sets: own.into_iter().flatten().chain(operators).collect(),
                ..expectation(cluster, pool)
            }
        })
        .collect()
}

/// The `DaemonSets` that serve each pool, by its name: those that say so by their label, then those of its releases.
fn daemon_sets<'t>(
    objects: &'t [Object],
    releases: &'t [Release],
) -> BTreeMap<&'t str, Vec<(String, String)>> {
    let of_objects = objects.iter().filter_map(|object| {
        let labels = object.node.get("metadata")?.get("labels")?;
        let pool = labels.get(POOL_LABEL)?.text()?;
        let namespace = object.identity.namespace.clone().unwrap_or_default();
        let is_daemon_set = object.identity.kind == "DaemonSet";
        is_daemon_set.then(|| (pool, (namespace, object.identity.name.clone())))
    });
    let of_releases = releases.iter().flat_map(|release| {
        let pools = release.pools.iter();
        pools.flat_map(move |pool| {
            let names = release.daemon_sets.iter();
            names.map(move |name| (pool.as_str(), (release.namespace.clone(), name.clone())))
        })
    });
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (pool, name) in of_objects.chain(of_releases) {
        found.entry(pool).or_default().push(name);
    }
    found
}

fn expectation(cluster: &Checked<'_>, pool: &Pool) -> Expectation {
    let labels = pool.selector.iter();
    let offers = pool.offers.sure().iter();
    let fabric = pool.fabric.iter();
    let tolerations = daemon_set::tolerations(pool);
    let tolerations = tolerations.iter().map(|toleration| {
        serde_json::to_value(toleration).expect("a toleration serialises to JSON")
    });
    Expectation {
        pool: pool.name.value.clone(),
        selector: labels
            .map(|label| (label.key.clone(), label.value.clone()))
            .collect(),
        min_nodes: pool.nodes.sure().min,
        allocatable: offers
            .map(|offer| (offer.resource.clone(), offer.per_node))
            .collect(),
        devices: pool.classes.iter().map(devices).collect(),
        fabric: fabric
            .map(|offer| (offer.resource.clone(), offer.per_node))
            .collect(),
        daemon_sets: Vec::new(),
        tolerations: tolerations.collect(),
        runtime_class: test_pod_class(cluster, pool),
    }
}

fn devices(class: &DeviceClass) -> ExpectedDevices {
    let (kind, profile) = match class.device {
        Claimed::Gpu => ("gpu", None),
        Claimed::Slice(profile) => ("mig", Some(profile.name)),
    };
    ExpectedDevices {
        class: class.name.clone(),
        driver: claims::DRIVER.to_owned(),
        kind,
        profile,
        per_node: class.per_node,
    }
}

/// With CDI a test pod gets its devices whatever its runtime class; otherwise it needs NVIDIA's.
pub(crate) fn test_pod_class(cluster: &Checked<'_>, pool: &Pool) -> Option<String> {
    let access = pool.has_gpus().then(|| access(cluster, pool))?;
    // The driver for claims describes devices by CDI, whatever the image has for plugins.
    let by_cdi = access.injection == Injection::Cdi || !pool.classes.is_empty();
    let class = access.runtime_class.filter(|_| !by_cdi)?;
    Some(class.name.to_owned())
}
