//! What `verify.sh` looks for, pool by pool.

use gpuc_schema::config::DevicePlugin;

use super::device_plugin::{NAMESPACE, daemon_set, pool_name};
use super::node_config::os;
use crate::check::Checked;
use crate::cloud::Injection;
use crate::model::Pool;
use crate::plan::Expectation;

/// One expectation for each pool.
pub(super) fn expectations(cluster: &Checked<'_>) -> Vec<Expectation> {
    let pools = cluster.pools.iter();
    pools.map(|pool| expectation(cluster, pool)).collect()
}

fn expectation(cluster: &Checked<'_>, pool: &Pool) -> Expectation {
    let labels = pool.selector.iter();
    let offers = pool.offers.sure().iter();
    let ours = pool.has_gpus() && pool.plugin.value == DevicePlugin::Gpuc;
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
        daemon_set: ours.then(|| (NAMESPACE.to_owned(), pool_name(pool))),
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
