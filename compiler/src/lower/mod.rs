//! `Checked → Plan`: what to do about a cluster, one file per concern. Nothing here can say no.

mod delivery;
mod device_plugin;
mod expectations;
pub(crate) mod images;
pub(crate) mod inputs;
mod namespaces;
mod node_config;
mod releases;
mod steps;
mod summary;

use crate::check::Checked;
use crate::plan::Plan;
use delivery::Goods;

pub use node_config::node_config;

pub(crate) use device_plugin::daemon_set::tolerations;
pub(crate) use node_config::{os, strategy_word};

/// What to do about a cluster.
pub fn lower(cluster: &Checked<'_>) -> Plan {
    let mut objects = device_plugin::objects(cluster);
    objects.extend(cluster.cloud.objects(cluster));
    let releases = releases::releases(cluster);
    objects.extend(namespaces::namespaces(&releases, &objects));
    images::move_images(cluster, &mut objects);
    objects.sort_by(|a, b| (&a.component, &a.identity).cmp(&(&b.component, &b.identity)));
    delivery::protect(cluster, &mut objects);
    let steps = steps::steps(&objects, &releases);
    let goods = Goods {
        objects: &objects,
        releases: &releases,
        steps: &steps,
    };
    Plan {
        cluster: cluster.name.value.clone(),
        provisioning: cluster.cloud.provision(cluster),
        expectations: expectations::expectations(cluster, &objects, &releases),
        delivery: delivery::delivery(cluster, &goods),
        steps,
        objects,
        releases,
        summary: summary::summary(cluster),
    }
}
