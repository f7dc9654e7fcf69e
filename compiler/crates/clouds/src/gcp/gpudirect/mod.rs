//! GPUDirect: direct communication between GPUs of different machines, over a VPC network for each interface of a node.
//!
//! Google defines the requirements of pods and nodes, and changes them with each release. A3 High and A3 Mega have a
//! [`Protocol`](tcp::Protocol) over TCP; later machines have RDMA [`Adapters`]. Sources, read 2026-11-22:
//! GoogleCloudPlatform/container-engine-accelerators (CEA below), GoogleCloudPlatform/cluster-toolkit and NVIDIA/aicr,
//! at the revisions that each constant names.

mod networks;
mod node;
mod objects;
mod pods;
pub(super) mod rdma;
mod tcp;
#[cfg(test)]
mod tests;

use gpuc_model::check::Checked;
use gpuc_model::cloud::NoRdma;
use gpuc_model::fabric::Fabric;
use gpuc_model::plan::IdentityCheck;
use gpuc_model::{Cluster, Label, MachineType, Pool, PoolSpec};
use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;
use gpuc_syntax::node::Origin;

use super::create_section;
use super::location::Target;
use super::machines::{self, GcpMachine, GpuDirect};
use rdma::Adapters;
use tcp::{Protocol, TCPX, TCPXO};

pub(super) use networks::{
    DEFAULT_CIDR, FIREWALL_RULE, LONGEST_PREFIX, NETWORK, SUBNETWORK, longest_name,
    pool_interfaces, resources as network_resources,
};
pub(super) use node::ADAPTER_HUGE_PAGES_GIB as HUGE_PAGES_GIB;
pub(super) use objects::objects;
pub(super) use pods::pod_settings;

/// Directory of the manifests.
pub(super) const COMPONENT: &str = "gpudirect";

/// Directory of the driver libraries in containers, which also contains NCCL and its plugin.
const LIBRARY_DIR: &str = "/usr/local/nvidia/lib64";

/// How the GPUs of a machine type communicate with GPUs of other machines.
#[derive(Clone, Copy, Debug)]
pub(super) enum Technology {
    /// Over TCP, with a sidecar in each pod.
    Tcp(&'static Protocol),
    /// Over RDMA.
    Rdma(&'static Adapters),
}

impl Technology {
    /// The network that NCCL uses.
    pub(super) const fn fabric(self) -> Fabric {
        match self {
            Self::Tcp(protocol) => protocol.fabric,
            Self::Rdma(_) => Fabric::Gib,
        }
    }

    /// Number of networks to which the interfaces of a node connect, without that of the cluster.
    pub(super) const fn interfaces(self) -> usize {
        match self {
            Self::Tcp(protocol) => protocol.interfaces,
            Self::Rdma(adapters) => adapters.interfaces(),
        }
    }
}

/// The technology of a pool's machine type; otherwise the reason why it has none, or not with these networks.
pub(super) fn pool_technology(pool: &Pool) -> Result<Technology, NoRdma> {
    let machine = pool_machine(pool);
    let is_managed = pool
        .settings
        .network
        .gpudirect
        .as_ref()
        .is_some_and(|it| it.value.is_managed());
    let name = machine.map_or("this machine", |machine| machine.machine.name);
    let protocol = match machine.and_then(|machine| machine.gpudirect) {
        Some(GpuDirect::Tcpxo) => &TCPXO,
        Some(GpuDirect::Tcpx) => &TCPX,
        Some(GpuDirect::Rdma) => return rdma_technology(name, is_managed),
        None => {
            return Err(NoRdma {
                reason: format!("`{name}` has no GPU interfaces"),
                help: "remove `gpudirect`",
            });
        }
    };
    if is_managed {
        return Err(NoRdma {
            reason: format!("GKE's network driver does not support the GPU interfaces of `{name}`"),
            help: "replace `managed` with `create: {}`, or list a network for each interface",
        });
    }
    Ok(Technology::Tcp(protocol))
}

fn rdma_technology(machine: &str, is_managed: bool) -> Result<Technology, NoRdma> {
    let Some(adapters) = rdma::machine_adapters(machine) else {
        unreachable!("every machine type with RDMA has adapters");
    };
    if !is_managed && !adapters.has_multi_networking {
        return Err(NoRdma {
            reason: format!("GKE does not support multi-networking for `{machine}`"),
            help: "let GKE create the networks: `gpudirect: {managed: {}}`",
        });
    }
    Ok(Technology::Rdma(adapters))
}

/// The row of a pool's machine type in the catalog.
fn pool_machine(pool: &Pool) -> Option<&'static GcpMachine> {
    match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => machines::find(machine.name),
        _ => None,
    }
}

/// The RDMA adapters of a pool's machine type, with and without `gpudirect`.
pub(super) fn pool_adapters(pool: &PoolSpec) -> Option<&'static Adapters> {
    match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => rdma::machine_adapters(machine.name),
        _ => None,
    }
}

/// The pools with GPUDirect, each with its technology.
pub(super) fn gpudirect_pools(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &Spanned<Gpudirect>, Technology)> {
    let pools = cluster.pools.iter();
    pools.filter_map(|pool| {
        let written = pool.settings.network.gpudirect.as_ref()?;
        Some((pool, written, pool_technology(pool).ok()?))
    })
}

/// The DaemonSets of a pool, with their requests.
pub(super) fn pool_daemons(pool: &Pool) -> Vec<gpuc_model::DaemonSetRequests> {
    let written = pool.settings.network.gpudirect.as_ref();
    let technology = written.and_then(|_| pool_technology(pool).ok());
    technology.map(node::daemons).unwrap_or_default()
}

/// Checks that an existing cluster has what the networks of its pools require: gpuc does not change clusters that it
/// does not create.
pub(super) fn existing_cluster_checks(
    cluster: Checked<'_>,
    target: Target<'_>,
) -> Vec<IdentityCheck> {
    if create_section(&cluster.config).is_some() {
        return Vec::new();
    }
    let mut checks = Vec::new();
    let is_managed = |(_, written, _): (_, &Spanned<Gpudirect>, _)| written.value.is_managed();
    if gpudirect_pools(&cluster).any(is_managed) {
        checks.push(IdentityCheck {
            subject: "data plane of the GKE cluster",
            is_location: false,
            query: target
                .cluster_command("describe")
                .with_arguments(["--format=value(networkConfig.datapathProvider)"]),
            expected: "ADVANCED_DATAPATH".to_owned(),
            mismatch_message:
                "networks that GKE manages require Dataplane V2, which can only be enabled at creation of the cluster"
                    .to_owned(),
        });
    }
    if gpudirect_pools(&cluster).any(|pool| !is_managed(pool)) {
        checks.push(IdentityCheck {
            subject: "multi-networking of the GKE cluster",
            is_location: false,
            query: target
                .cluster_command("describe")
                .with_arguments(["--format=value(networkConfig.enableMultiNetworking)"]),
            expected: "True".to_owned(),
            mismatch_message: format!(
                "with Dataplane V2, enable it: gcloud container clusters update {} --enable-multi-networking; a \
                 cluster without Dataplane V2 must be recreated",
                target.cluster
            ),
        });
    }
    checks
}

/// The labels of nodes whose network adapters GKE manages.
pub(super) fn required_labels(pool: &PoolSpec) -> Vec<Label> {
    let written = pool.settings.network.gpudirect.as_ref();
    let (Some(written), Some(adapters)) = (written, pool_adapters(pool)) else {
        return Vec::new();
    };
    if !written.value.is_managed() {
        return Vec::new();
    }
    let driver = (
        rdma::NETWORK_DRIVER_LABEL,
        "true",
        "GKE's network driver runs on nodes with this label",
        "docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-28",
    );
    let (key, value) = rdma::UNIFIED_CNI_LABEL;
    let bare_metal = (
        key,
        value,
        "the network plugin of bare-metal nodes leaves their adapters to the network driver",
        "docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06",
    );
    let labels = std::iter::once(driver).chain(adapters.is_bare_metal.then_some(bare_metal));
    labels
        .map(|(key, value, reason, source)| Label {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: Origin::fact([written.span], reason, source),
        })
        .collect()
}
