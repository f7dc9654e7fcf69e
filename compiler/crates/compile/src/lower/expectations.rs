//! The state that `verify.sh` expects of each pool.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::cloud::Injection;
use gpuc_model::fabric::pool_fabric;
use gpuc_model::plan::{Expectation, ExpectedDevices, Object, Release};
use gpuc_model::{DeviceClass, DeviceKind, POOL_LABEL, Pool, PoolTaint, SetBy, Sharing};

use super::claims;
use super::node_config::driver_access;
use crate::charts;

/// One expectation for each pool, from the objects and releases of the tree.
pub(super) fn expectations(
    cluster: &Checked<'_>,
    objects: &[Object],
    releases: &[Release],
) -> Vec<Expectation> {
    let mut daemon_sets = daemon_sets_by_pool(objects, releases);
    let pools = cluster.pools.iter();
    pools
        .map(|pool| {
            let pool_daemon_sets = daemon_sets.remove(pool.name.value.as_str());
            let operators = charts::operator_daemon_sets(cluster, pool);
            Expectation {
                daemon_sets: pool_daemon_sets
                    .into_iter()
                    .flatten()
                    .chain(operators)
                    .collect(),
                ..expectation(cluster, pool)
            }
        })
        .collect()
}

/// The DaemonSets of each pool, by its name: those with the pool's label, then those of its releases.
fn daemon_sets_by_pool<'t>(
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
    let advertised = pool.advertised.expect_resolved().iter();
    let interconnect = pool.interconnect.iter();
    let tolerations = gpuc_model::derive::tolerations(pool);
    let tolerations = tolerations.iter().map(|toleration| {
        serde_json::to_value(toleration).expect("a toleration serialises to JSON")
    });
    Expectation {
        pool: pool.name.value.clone(),
        selector: labels
            .map(|label| (label.key.clone(), label.value.clone()))
            .collect(),
        min_nodes: pool.nodes.expect_resolved().min,
        period: pool
            .capacity_period()
            .map(|period| (period.start.to_string(), period.scale_down.to_string())),
        required_taints: required_taints(cluster, pool),
        allocatable: advertised
            .map(|resource| (resource.name.clone(), resource.per_node))
            .collect(),
        devices: (pool.classes.iter())
            .map(|class| expected_devices(cluster, class))
            .collect(),
        interconnect: interconnect
            .map(|resource| (resource.name.clone(), resource.per_node))
            .collect(),
        daemon_sets: Vec::new(),
        fabric_nodes: fabric_nodes(cluster, pool),
        tolerations: tolerations.collect(),
        runtime_class: test_pod_class(cluster, pool),
    }
}

/// The taints of nodes that exist before gpuc and that no script taints. Without such a taint, other pods can take the
/// nodes of the pool.
pub(super) fn required_taints(cluster: &Checked<'_>, pool: &Pool) -> Vec<String> {
    let is_external = pool.is_existing() && !cluster.cloud.facts().creates_machines;
    let taints = pool.taints.iter();
    let taints = taints.filter(|taint| is_external && taint.set_by == SetBy::Gpuc);
    let text =
        |taint: &PoolTaint| format!("{}={}:{}", taint.key, taint.value, taint.effect.as_str());
    taints.map(text).collect()
}

/// The smallest number of nodes that proves the network of a pool. `gpuc prove` needs whole GPUs.
fn fabric_nodes(cluster: &Checked<'_>, pool: &Pool) -> Option<u32> {
    let is_exclusive = matches!(pool.sharing.get(), Some(Sharing::Exclusive));
    let max = pool.nodes.expect_resolved().max;
    let candidates = [2, 1].into_iter().filter(|nodes| *nodes <= max);
    let mut proven = candidates.filter(|nodes| pool_fabric(cluster, pool, *nodes).is_ok());
    proven.next().filter(|_| is_exclusive)
}

fn expected_devices(cluster: &Checked<'_>, class: &DeviceClass) -> ExpectedDevices {
    let (kind, profile) = match class.device_kind {
        DeviceKind::FullGpu => ("gpu", None),
        DeviceKind::MigDevice(profile) => ("mig", Some(profile.name)),
    };
    ExpectedDevices {
        class: class.name.clone(),
        driver: claims::DRIVER.to_owned(),
        kind,
        profile,
        per_node: class.per_node,
        resource: class.extended_resource.as_ref().and_then(|name| {
            let (_, owner) = cluster.class_of_resource(name)?;
            Some((name.clone(), owner.name.clone()))
        }),
    }
}

/// The runtime class of a test pod. With CDI it gets its devices with any runtime class; otherwise it needs NVIDIA's.
pub(crate) fn test_pod_class(cluster: &Checked<'_>, pool: &Pool) -> Option<String> {
    let access = pool.has_gpus().then(|| driver_access(cluster, pool))?;
    // The DRA driver uses CDI, whatever method device plugins use on this node image.
    let uses_cdi = access.injection == Injection::Cdi || !pool.classes.is_empty();
    let class = access.runtime_class.filter(|_| !uses_cdi)?;
    Some(class.name.to_owned())
}
