//! `Checked → Plan`: what to do about a cluster, one file per concern. Nothing here can say no.

mod device_plugin;
mod expectations;
pub(crate) mod inputs;
mod namespaces;
mod node_config;
mod releases;
mod steps;
mod summary;

use crate::chart;
use crate::check::Checked;
use crate::plan::{Delivery, Plan};

pub use node_config::node_config;

pub(crate) use device_plugin::daemon_set::tolerations;
pub(crate) use node_config::{access, strategy_word};

/// What to do about a cluster.
pub fn lower(cluster: &Checked<'_>) -> Plan {
    let mut objects = device_plugin::objects(cluster);
    objects.extend(cluster.cloud.objects(cluster));
    objects.extend(chart::driver_objects(cluster));
    let releases = releases::releases(cluster);
    objects.extend(namespaces::namespaces(&releases, &objects));
    objects.sort_by(|a, b| (&a.component, &a.identity).cmp(&(&b.component, &b.identity)));
    Plan {
        cluster: cluster.name.value.clone(),
        provisioning: cluster.cloud.provision(cluster),
        expectations: expectations::expectations(cluster, &objects, &releases),
        steps: steps::steps(&objects, &releases),
        delivery: Delivery::Script,
        objects,
        releases,
        summary: summary::summary(cluster),
    }
}
