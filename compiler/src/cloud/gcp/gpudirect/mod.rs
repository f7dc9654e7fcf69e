//! GPUDirect: GPUs that reach those of other machines past the CPU, over a VPC network for each interface of a node.
//!
//! What the pods of a node and the node itself need for it is Google's, and changes with each release of theirs: a
//! release is one [`Protocol`]. Sources, read 2026-11-22: GoogleCloudPlatform/container-engine-accelerators (CEA
//! below), GoogleCloudPlatform/cluster-toolkit and NVIDIA/aicr, at the revisions that each constant names.

mod node;
mod objects;
mod pods;
#[cfg(test)]
mod tests;

use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;

use super::created;
use super::machines::{self, GpuDirect};
use super::place::Place;
use crate::check::Checked;
use crate::cloud::NoRdma;
use crate::model::{Cluster, MachineType, Pool};
use crate::plan::IdentityCheck;

pub(super) use objects::objects;
pub(super) use pods::settings;

/// The folder of the manifests.
pub(super) const COMPONENT: &str = "gpudirect";

/// How GPUs of one family of machines talk to those of others, and what does it.
#[derive(Debug)]
pub(super) struct Protocol {
    /// How many interfaces a node has for it.
    pub(super) interfaces: usize,
    /// What its files are called: `tcpxo`.
    word: &'static str,
    /// What installs the plugin is called so.
    installer: &'static str,
    /// Installs NCCL's plugin on a node.
    plugin: &'static str,
    /// Whether the node has devices that pods open themselves.
    has_apertures: bool,
    /// Moves packets between the interfaces and the GPUs of a pod, from beside it.
    daemon: Daemon,
    /// What NCCL is told: all that the release notes list but how much it logs.
    env: &'static [(&'static str, &'static str)],
    /// What the pod's own container may do beside.
    capabilities: &'static [&'static str],
}

/// What moves packets, from beside a pod.
#[derive(Debug)]
struct Daemon {
    image: &'static str,
    command: &'static [&'static str],
    capabilities: &'static [&'static str],
    /// Devices of the node, beside those of GPUs.
    devices: &'static [&'static str],
    /// The file that it writes when it is ready, where it can.
    ready: Option<&'static str>,
    /// The folder of the sockets by which it is reached, where it has one.
    sockets: Option<&'static str>,
}

/// Where containers see the driver's libraries, and NCCL and its plugin among them.
const LIBRARIES: &str = "/usr/local/nvidia/lib64";

/// A3 Mega.
///
/// The images that go together, and NCCL's settings: CEA@0a2b482e `gpudirect-tcpxo/README.md`, the release of
/// 2026-01-09. The daemon's arguments: its release of 2025-08-21; rights, devices and folders: CEA@ced6fa74
/// `gpudirect-tcpxo/nccl-test-latest.yaml`; the file of the health check: CEA@3aa66cbe
/// `gpudirect-tcpxo/best-practice.md`.
static TCPXO: Protocol = Protocol {
    interfaces: 8,
    word: "tcpxo",
    installer: "nccl-tcpxo-installer",
    plugin: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15",
    has_apertures: true,
    daemon: Daemon {
        image: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21",
        command: &[
            "/bin/sh",
            "-c",
            "chmod 755 /fts/entrypoint_rxdm_container.sh && \
             exec /fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics=8",
        ],
        capabilities: &["NET_ADMIN", "NET_BIND_SERVICE"],
        devices: &["/dev/dmabuf_import_helper"],
        ready: Some("/run/health-check"),
        sockets: None,
    },
    env: &[
        ("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"),
        ("LD_LIBRARY_PATH", LIBRARIES),
        ("NCCL_BUFFSIZE", "8388608"),
        ("NCCL_CROSS_NIC", "0"),
        ("NCCL_FASTRAK_CTRL_DEV", "eth0"),
        ("NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL", "0"),
        ("NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING", "0"),
        (
            "NCCL_FASTRAK_IFNAME",
            "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
        ),
        ("NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY", pods::APERTURES),
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
/// The images that go together, and NCCL's settings: CEA@98c85a6e `gpudirect-tcpx/README.md`, the release of
/// 2026-06-22. Arguments, rights, devices and folders: CEA@0e5609b0 `gpudirect-tcpx/nccl-test-latest.yaml` and
/// cluster-toolkit@06bd8a68 `modules/compute/gke-node-pool/gpu-direct-workload/scripts/enable-tcpx-in-workload.py`.
/// The plugin looks for the daemon's sockets in the folder that `NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX` names:
/// cluster-toolkit's guide to A3 High with Slurm.
static TCPX: Protocol = Protocol {
    interfaces: 4,
    word: "tcpx",
    installer: "nccl-tcpx-installer",
    plugin: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.12",
    has_apertures: false,
    daemon: Daemon {
        image: "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.15",
        command: &[
            "/tcpgpudmarxd/build/app/tcpgpudmarxd",
            "--gpu_nic_preset",
            "a3vm",
            "--gpu_shmem_type",
            "fd",
            "--uds_path",
            SOCKETS,
            "--setup_param",
            r#"\"--verbose 128 2 0 \""#,
        ],
        capabilities: &["NET_ADMIN"],
        devices: &[],
        ready: None,
        sockets: Some(SOCKETS),
    },
    env: &[
        ("LD_LIBRARY_PATH", LIBRARIES),
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
        ("NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX", SOCKETS),
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

/// Where the daemon of A3 High and its pod meet.
const SOCKETS: &str = "/run/tcpx";

/// What a pool's machines do; otherwise why gpuc cannot set it up.
pub(super) fn protocol(pool: &Pool) -> Result<&'static Protocol, NoRdma> {
    let machine = match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => machines::find(machine.name),
        _ => None,
    };
    let help = "remove `gpudirect`, or choose `a3-megagpu-8g` or `a3-highgpu-8g`";
    let name = machine.map_or("this machine", |machine| machine.machine.name);
    match machine.and_then(|machine| machine.gpudirect) {
        Some(GpuDirect::Tcpxo) => Ok(&TCPXO),
        Some(GpuDirect::Tcpx) => Ok(&TCPX),
        Some(GpuDirect::Rdma) => Err(NoRdma {
            why: format!(
                "what `{name}` has is GPUDirect RDMA: what NCCL must be told for it changes with the plugin on the \
                 node, and only a script there knows it, so gpuc cannot write it down"
            ),
            help: "remove `gpudirect`, and make the pool as Google's guide says",
        }),
        None => Err(NoRdma {
            why: format!("`{name}` has no interfaces for its GPUs"),
            help,
        }),
    }
}

/// The pools that have it, with what does it.
pub(super) fn pools(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &Spanned<Gpudirect>, &'static Protocol)> {
    let pools = cluster.pools.iter();
    pools.filter_map(|pool| {
        let written = pool.written.network.gpudirect.as_ref()?;
        Some((pool, written, protocol(pool).ok()?))
    })
}

/// What the `DaemonSets` of a pool take of a node.
pub(super) fn daemons(pool: &Pool) -> Vec<crate::model::Daemon> {
    let written = pool.written.network.gpudirect.as_ref();
    let protocol = written.and_then(|_| protocol(pool).ok());
    protocol.map(node::daemons).into_iter().flatten().collect()
}

/// What a cluster of others must have before its pools get interfaces: only its owner switches it on.
pub(super) fn of_others(cluster: Checked<'_>, place: Place<'_>) -> Vec<IdentityCheck> {
    let mut pools = pools(&cluster);
    if created(&cluster.written).is_some() || pools.next().is_none() {
        return Vec::new();
    }
    let shown = "--format=value(networkConfig.enableMultiNetworking)";
    vec![IdentityCheck {
        what: "several networks for pods in the GKE cluster",
        is_place: false,
        ask: place.cluster("describe").with([shown]),
        want: "True".to_owned(),
        otherwise: format!(
            "with Dataplane V2, switch it on: gcloud container clusters update {} --enable-multi-networking; a \
             cluster without has to be made again",
            place.cluster
        ),
    }]
}
