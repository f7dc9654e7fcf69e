//! What `verify.sh` looks for, pool by pool.

use super::device_plugin::daemon_set;
use super::node_config::os;
use crate::check::Checked;
use crate::cloud::Injection;
use crate::model::{POOL_LABEL, Pool};
use crate::node::Node;
use crate::plan::{Expectation, Object, Release};

/// One expectation for each pool, given what the tree has for them.
pub(super) fn expectations(
    cluster: &Checked<'_>,
    objects: &[Object],
    releases: &[Release],
) -> Vec<Expectation> {
    let pools = cluster.pools.iter();
    pools
        .map(|pool| Expectation {
            daemon_sets: daemon_sets(pool, objects, releases),
            ..expectation(cluster, pool)
        })
        .collect()
}

/// The DaemonSets that serve a pool: those that say so by its label, and those of its releases.
fn daemon_sets(pool: &Pool, objects: &[Object], releases: &[Release]) -> Vec<(String, String)> {
    let serves = |object: &&Object| {
        let metadata = object.node.get("metadata");
        let labels = metadata.and_then(|metadata| metadata.get("labels"));
        let label = labels
            .and_then(|labels| labels.get(POOL_LABEL))
            .and_then(Node::text);
        object.identity.kind == "DaemonSet" && label == Some(&pool.name.value)
    };
    let of_objects = objects.iter().filter(serves).map(|object| {
        let namespace = object.identity.namespace.clone().unwrap_or_default();
        (namespace, object.identity.name.clone())
    });
    let of_releases = releases
        .iter()
        .filter(|release| release.pool == pool.name.value)
        .map(|release| (release.namespace.clone(), release.daemon_set.clone()));
    of_objects.chain(of_releases).collect()
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
        fabric: fabric
            .map(|offer| (offer.resource.clone(), offer.per_node))
            .collect(),
        daemon_sets: Vec::new(),
        tolerations: tolerations.collect(),
        runtime_class: test_pod_class(cluster, pool),
    }
}

/// With CDI a test pod gets its devices whatever its runtime class; otherwise it needs NVIDIA's.
fn test_pod_class(cluster: &Checked<'_>, pool: &Pool) -> Option<String> {
    let os = pool.has_gpus().then(|| os(cluster, pool))?;
    let class = os
        .runtime_class
        .filter(|_| os.injection != Injection::Cdi)?;
    Some(class.name.to_owned())
}
