//! GPUDirect-TCPX and GPUDirect-TCPXO, of A3 High and A3 Mega.

use gpuc_model::fabric::Fabric;

use super::LIBRARY_DIR;
use super::pods::APERTURE_DIR;

/// A GPUDirect protocol of one machine family, and its components.
#[derive(Debug)]
pub(in super::super) struct Protocol {
    /// Network that NCCL uses with it.
    pub(super) fabric: Fabric,
    /// Number of GPU interfaces of a node.
    pub(super) interfaces: usize,
    /// Short name of the protocol, which is part of file names: `tcpxo`.
    pub(super) name: &'static str,
    /// Name of the DaemonSet that installs the NCCL plugin.
    pub(super) installer: &'static str,
    /// Image that installs the NCCL plugin on a node.
    pub(super) plugin: &'static str,
    /// Whether nodes have aperture devices that pods open themselves.
    pub(super) has_apertures: bool,
    /// Sidecar that moves packets between the interfaces and the GPUs of a pod.
    pub(super) daemon: Sidecar,
    /// Environment variables of NCCL: all that the release notes list, except for the log level.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Additional capabilities of the main container.
    pub(super) capabilities: &'static [&'static str],
}

/// Sidecar that moves packets between the interfaces and the GPUs of a pod.
#[derive(Debug)]
pub(in super::super) struct Sidecar {
    pub(super) image: &'static str,
    pub(super) command: &'static [&'static str],
    pub(super) capabilities: &'static [&'static str],
    /// Device files of the node, in addition to those of the GPUs.
    pub(super) devices: &'static [&'static str],
    /// File that the daemon writes when it is ready, if supported.
    pub(super) health_file: Option<&'static str>,
    /// Directory of its sockets, if it has one.
    pub(super) socket_dir: Option<&'static str>,
}

/// A3 Mega.
///
/// Compatible images and NCCL settings: CEA@0a2b482e `gpudirect-tcpxo/README.md`, the release of
/// 2026-01-09. The daemon's arguments: its release of 2025-08-21; capabilities, devices and directories: CEA@ced6fa74
/// `gpudirect-tcpxo/nccl-test-latest.yaml`; the file of the health check: CEA@3aa66cbe
/// `gpudirect-tcpxo/best-practice.md`.
pub(super) static TCPXO: Protocol = Protocol {
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
        ("NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY", APERTURE_DIR),
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
pub(super) static TCPX: Protocol = Protocol {
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
