//! `Checked → Plan`: derives the objects, releases and scripts of a cluster, one file per concern. This phase reports
//! no errors.

mod admission;
pub(crate) mod claims;
mod delivery;
mod device_plugin;
pub(crate) mod driver_upgrades;
mod expectations;
pub(crate) mod images;
mod install_order;
pub mod monitoring;
mod namespaces;
mod node_config;
mod node_tags;
mod origins;
mod queues;
pub(crate) mod rdma;
mod releases;
mod storage;
mod summary;
mod teams;
pub(crate) mod workloads;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Contents, File, Plan};
use gpuc_schema::config::DevicePlugin;

use crate::charts::{self, nvidia_device_plugin};
use delivery::Deliverables;

pub use images::mirrored_image;
pub use node_config::node_config;
pub use origins::attach_origins;

pub(crate) use device_plugin::{
    COMPONENT as RUNTIME_NAME, NAMESPACE as RUNTIME_NAMESPACE, POD_NAME_LABEL,
};
pub(crate) use expectations::test_pod_class;
pub(crate) use node_config::{driver_access, injected_components};

/// The plan for a cluster.
pub fn lower(cluster: &Checked<'_>) -> Plan {
    let mut objects = device_plugin::objects(cluster);
    objects.extend(claims::objects(cluster));
    objects.extend(rdma::objects(cluster));
    objects.extend(cluster.cloud.objects(cluster));
    objects.extend(charts::driver_objects(cluster));
    objects.extend(monitoring::objects(cluster));
    objects.extend(storage::objects(cluster));
    objects.extend(queues::objects(cluster));
    objects.extend(workloads::objects(cluster));
    let releases = releases::releases(cluster);
    objects.extend(teams::objects(cluster, &releases));
    objects.extend(namespaces::namespaces(cluster, &releases, &objects));
    objects.extend(admission::objects(cluster, &releases, &objects));
    let public: Vec<_> = objects.iter().map(images::image_references).collect();
    images::apply_mirror_and_digests(cluster, &mut objects);
    let images = images::pulled_images(cluster, &objects, &public, &releases);
    objects.sort_by(|a, b| (&a.component, &a.identity).cmp(&(&b.component, &b.identity)));
    delivery::protect(cluster, &mut objects);
    let steps = install_order::install_steps(&objects, &releases);
    let deliverables = Deliverables {
        objects: &objects,
        releases: &releases,
        steps: &steps,
    };
    let mut provisioning = cluster.cloud.provision(cluster);
    provisioning.files.push(contract_file(cluster));
    Plan {
        cluster: cluster.name.value.clone(),
        provisioning,
        expectations: expectations::expectations(cluster, &objects, &releases),
        delivery: delivery::delivery(cluster, &deliverables),
        steps,
        objects,
        releases,
        images,
        summary: summary::summary(cluster),
    }
}

/// What the nodes must be, for those who create them with other tools.
fn contract_file(cluster: &Checked<'_>) -> File {
    let tree = gpuc_contract::contract::tree(cluster);
    File {
        path: "contract.json".to_owned(),
        origin: tree.origin.clone(),
        contents: Contents::Json(tree),
    }
}

/// The DaemonSet of this tree that advertises a pool's GPUs, as namespace and name.
pub(crate) fn daemon_set_of_plugin(pool: &Pool) -> Option<(String, String)> {
    if !pool.is_advertised_by(pool.plugin.value) {
        return None;
    }
    match pool.plugin.value {
        DevicePlugin::Gpuc => {
            let namespace = RUNTIME_NAMESPACE.to_owned();
            Some((namespace, device_plugin::pool_name(pool)))
        }
        DevicePlugin::Nvidia => Some(nvidia_device_plugin::daemon_set(pool)),
        DevicePlugin::Operator | DevicePlugin::Cloud => None,
    }
}
