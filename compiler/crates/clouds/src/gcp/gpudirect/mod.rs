//! GPUDirect: direct communication between GPUs of different machines, over a VPC network for each interface of a node.
//!
//! Google defines the requirements of pods and nodes, and changes them with each release; a release is one
//! [`Protocol`]. Sources, read 2026-11-22: GoogleCloudPlatform/container-engine-accelerators (CEA below),
//! GoogleCloudPlatform/cluster-toolkit and NVIDIA/aicr, at the revisions that each constant names.

mod node;
mod objects;
mod pods;
#[cfg(test)]
mod tests;

use gpuc_model::check::Checked;
use gpuc_model::cloud::NoRdma;
use gpuc_model::fabric::Fabric;
use gpuc_model::plan::IdentityCheck;
use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;

use super::create_section;
use super::location::Target;
use super::machines::{self, GpuDirect};

pub(super) use objects::objects;
pub(super) use pods::pod_settings;

/// Directory of the manifests.
pub(super) const COMPONENT: &str = "gpudirect";

/// A GPUDirect protocol of one machine family, and its components.
#[derive(Debug)]
pub(super) struct Protocol {
    /// Network that NCCL uses with it.
    pub(super) fabric: Fabric,
    /// Number of GPU interfaces of a node.
    pub(super) interfaces: usize,
    /// Short name of the protocol, which is part of file names: `tcpxo`.
    name: &'static str,
    /// Name of the DaemonSet that installs the NCCL plugin.
    installer: &'static str,
    /// Image that installs the NCCL plugin on a node.
    plugin: &'static str,
    /// Whether nodes have aperture devices that pods open themselves.
    has_apertures: bool,
    /// Sidecar that moves packets between the interfaces and the GPUs of a pod.
    daemon: Sidecar,
    /// Environment variables of NCCL: all that the release notes list, except for the log level.
    env: &'static [(&'static str, &'static str)],
    /// Additional capabilities of the main container.
    capabilities: &'static [&'static str],
}

/// Sidecar that moves packets between the interfaces and the GPUs of a pod.
#[derive(Debug)]
struct Sidecar {
    image: &'static str,
    command: &'static [&'static str],
    capabilities: &'static [&'static str],
    /// Device files of the node, in addition to those of the GPUs.
    devices: &'static [&'static str],
    /// File that the daemon writes when it is ready, if supported.
    health_file: Option<&'static str>,
    /// Directory of its sockets, if it has one.
    socket_dir: Option<&'static str>,
}

/// Directory of the driver libraries in containers, which also contains NCCL and its plugin.
const LIBRARY_DIR: &str = "/usr/local/nvidia/lib64";

/// A3 Mega.
///
/// Compatible images and NCCL settings: CEA@0a2b482e `gpudirect-tcpxo/README.md`, the release of
/// 2026-01-09. The daemon's arguments: its release of 2025-08-21; capabilities, devices and directories: CEA@ced6fa74
/// `gpudirect-tcpxo/nccl-test-latest.yaml`; the file of the health check: CEA@3aa66cbe
/// `gpudirect-tcpxo/best-practice.md`.
static TCPXO: Protocol = Protocol {
    fabric: Fabric::TcpXo,
    interfaces: 8,
    name: "tcpxo",
    installer: "nccl-tcpxo-installer",
    plugin: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15",
    has_apertures: true,
    daemon: Sidecar {
        image: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21",
        command: &[
            "/bin/sh",
            "-c",
            "chmod 755 /fts/entrypoint_rxdm_container.sh && \
             exec /fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics=8",
        ],
        capabilities: &["NET_ADMIN", "NET_BIND_SERVICE"],
        devices: &["/dev/dmabuf_import_helper"],
        health_file: Some("/run/health-check"),
        socket_dir: None,
    },
    env: &[
        ("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"),
        ("LD_LIBRARY_PATH", LIBRARY_DIR),
        ("NCCL_BUFFSIZE", "8388608"),
        ("NCCL_CROSS_NIC", "0"),
        ("NCCL_FASTRAK_CTRL_DEV", "eth0"),
        ("NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL", "0"),
        ("NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING", "0"),
        (
            "NCCL_FASTRAK_IFNAME",
            "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
        ),
        ("NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY", pods::APERTURE_DIR),
        ("NCCL_FASTRAK_NUM_FLOWS", "2"),
        ("NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS", "600000"),
        ("NCCL_FASTRAK_USE_LLCM", "1"),
        ("NCCL_FASTRAK_USE_SNAP", "1"),
        ("NCCL_MIN_NCHANNELS", "4"),
        ("NCCL_NET_GDR_LEVEL", "PIX"),
        ("NCCL_NVLSTREE_MAX_CHUNKSIZE", "131072"),
        ("NCCL_NVLS_ENABLE", "1"),
        ("NCCL_P2P_NET_CHUNKSIZE", "524288"),
        ("NCCL_P2P_NVL_CHUNKSIZE", "1048576"),
        ("NCCL_P2P_PCI_CHUNKSIZE", "524288"),
        ("NCCL_PROTO", "Simple,LL128"),
        (
            "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE",
            "/usr/local/nvidia/lib64/a3plus_guest_config.textproto",
        ),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        (
            "NCCL_TUNER_CONFIG_PATH",
            "/usr/local/nvidia/lib64/a3plus_tuner_config.textproto",
        ),
        ("NCCL_TUNER_PLUGIN", "libnccl-tuner.so"),
    ],
    capabilities: &[],
};

/// A3 High.
///
/// Compatible images and NCCL settings: CEA@98c85a6e `gpudirect-tcpx/README.md`, the release of
/// 2026-06-22. Arguments, capabilities, devices and directories: CEA@0e5609b0 `gpudirect-tcpx/nccl-test-latest.yaml`
/// and cluster-toolkit@06bd8a68 `modules/compute/gke-node-pool/gpu-direct-workload/scripts/enable-tcpx-in-workload.py`.
/// The plugin expects the daemon's sockets in the directory that `NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX` names:
/// cluster-toolkit's guide to A3 High with Slurm.
static TCPX: Protocol = Protocol {
    fabric: Fabric::TcpX,
    interfaces: 4,
    name: "tcpx",
    installer: "nccl-tcpx-installer",
    plugin: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.12",
    has_apertures: false,
    daemon: Sidecar {
        image: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.15",
        command: &[
            "/tcpgpudmarxd/build/app/tcpgpudmarxd",
            "--gpu_nic_preset",
            "a3vm",
            "--gpu_shmem_type",
            "fd",
            "--uds_path",
            SOCKET_DIR,
            "--setup_param",
            r#"\"--verbose 128 2 0 \""#,
        ],
        capabilities: &["NET_ADMIN"],
        devices: &[],
        health_file: None,
        socket_dir: Some(SOCKET_DIR),
    },
    env: &[
        ("LD_LIBRARY_PATH", LIBRARY_DIR),
        ("NCCL_ALGO", "Ring,Tree"),
        ("NCCL_BUFFSIZE", "4194304"),
        ("NCCL_CROSS_NIC", "0"),
        ("NCCL_DYNAMIC_CHUNK_SIZE", "524288"),
        ("NCCL_GPUDIRECTTCPX_CTRL_DEV", "eth0"),
        (
            "NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS",
            "500000",
        ),
        (
            "NCCL_GPUDIRECTTCPX_RX_BINDINGS",
            "eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191",
        ),
        ("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "eth1,eth2,eth3,eth4"),
        (
            "NCCL_GPUDIRECTTCPX_TX_BINDINGS",
            "eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177",
        ),
        ("NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX", SOCKET_DIR),
        ("NCCL_NET_GDR_LEVEL", "PIX"),
        ("NCCL_NSOCKS_PERTHREAD", "4"),
        ("NCCL_P2P_NET_CHUNKSIZE", "524288"),
        ("NCCL_P2P_NVL_CHUNKSIZE", "1048576"),
        ("NCCL_P2P_PCI_CHUNKSIZE", "524288"),
        ("NCCL_P2P_PXN_LEVEL", "0"),
        ("NCCL_PROTO", "Simple"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("NCCL_SOCKET_NTHREADS", "1"),
    ],
    capabilities: &["IPC_LOCK"],
};

/// Directory of the sockets that the daemon of A3 High shares with its pod.
const SOCKET_DIR: &str = "/run/tcpx";

/// The protocol of a pool's machine type; otherwise the reason why gpuc does not support it.
pub(super) fn pool_protocol(pool: &Pool) -> Result<&'static Protocol, NoRdma> {
    let machine = match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => machines::find(machine.name),
        _ => None,
    };
    let help = "remove `gpudirect`, or choose the machine type `a3-megagpu-8g` or `a3-highgpu-8g`";
    let name = machine.map_or("this machine", |machine| machine.machine.name);
    match machine.and_then(|machine| machine.gpudirect) {
        Some(GpuDirect::Tcpxo) => Ok(&TCPXO),
        Some(GpuDirect::Tcpx) => Ok(&TCPX),
        Some(GpuDirect::Rdma) => Err(NoRdma {
            reason: format!(
                "`{name}` has GPUDirect RDMA, which gpuc does not support: the NCCL settings change with the plugin on \
                 the node and are only available from a script there"
            ),
            help: "remove `gpudirect`, and create the pool as described in Google's guide",
        }),
        None => Err(NoRdma {
            reason: format!("`{name}` has no GPU interfaces"),
            help,
        }),
    }
}

/// Pools with GPUDirect, each with its protocol.
pub(super) fn gpudirect_pools(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &Spanned<Gpudirect>, &'static Protocol)> {
    let pools = cluster.pools.iter();
    pools.filter_map(|pool| {
        let written = pool.settings.network.gpudirect.as_ref()?;
        Some((pool, written, pool_protocol(pool).ok()?))
    })
}

/// The DaemonSets of a pool, with their requests.
pub(super) fn pool_daemons(pool: &Pool) -> Vec<gpuc_model::DaemonSetRequests> {
    let written = pool.settings.network.gpudirect.as_ref();
    let protocol = written.and_then(|_| pool_protocol(pool).ok());
    protocol
        .map(node::protocol_daemons)
        .into_iter()
        .flatten()
        .collect()
}

/// Check that an existing cluster has multi-networking enabled: gpuc does not enable it in clusters that it does not
/// create.
pub(super) fn existing_cluster_checks(
    cluster: Checked<'_>,
    target: Target<'_>,
) -> Vec<IdentityCheck> {
    let mut pools = gpudirect_pools(&cluster);
    if create_section(&cluster.config).is_some() || pools.next().is_none() {
        return Vec::new();
    }
    let format = "--format=value(networkConfig.enableMultiNetworking)";
    vec![IdentityCheck {
        subject: "multi-networking of the GKE cluster",
        is_location: false,
        query: target.cluster_command("describe").with_arguments([format]),
        expected: "True".to_owned(),
        mismatch_message: format!(
            "with Dataplane V2, enable it: gcloud container clusters update {} --enable-multi-networking; a \
             cluster without Dataplane V2 must be recreated",
            target.cluster
        ),
    }]
}
