//! Parts of pods that use GPUDirect, in addition to the user's settings: the interfaces of the node, the libraries on
//! the node, and with TCP the sidecar that moves packets between the interfaces and the GPUs.

use gpuc_model::cloud::{InterconnectSettings, PodAdditions};
use gpuc_model::{Cluster, Pool};
use serde_json::{Map, Value, json};

use super::rdma::{GIB_DIR, GIB_NODE_DIR, PROFILE_LABEL, Plugin};
use super::tcp::{Protocol, Sidecar};
use super::{Adapters, LIBRARY_DIR, Technology, pool_interfaces, pool_technology};

/// Directory of the aperture devices, which pods open themselves.
pub(super) const APERTURE_DIR: &str = "/dev/aperture_devices";

/// Names of volumes. They are longer than names that users can set.
const LIBRARY_VOLUME: &str = "gpudirect-node-libraries";
const PLUGIN_VOLUME: &str = "gpudirect-nccl-plugin";
const APERTURE_VOLUME: &str = "gpudirect-node-apertures";
const SYS_VOLUME: &str = "gpudirect-node-sys-folder";
const PROC_SYS_VOLUME: &str = "gpudirect-node-proc-sys";
const SOCKET_VOLUME: &str = "gpudirect-daemon-sockets";

/// Period and number of attempts of the startup probe: the daemon needs about 30 seconds to start.
const PROBE_PERIOD_SECONDS: u32 = 5;
const PROBE_FAILURES: u32 = 24;

/// GPUDirect settings for pods of multi-node workloads of a pool.
pub(in super::super) fn pod_settings(cluster: &Cluster, pool: &Pool) -> InterconnectSettings {
    let written = pool.settings.network.gpudirect.as_ref();
    let (Some(written), Ok(technology)) = (written, pool_technology(pool)) else {
        return InterconnectSettings::default();
    };
    let interfaces = pool_interfaces(cluster, pool);
    let networks = interfaces.iter();
    let networks: Vec<_> = networks
        .map(|interface| interface.subnetwork.as_str())
        .collect();
    match technology {
        Technology::Tcp(protocol) => InterconnectSettings {
            env: protocol.env,
            huge_pages_mib: 0,
            additions: PodAdditions {
                annotations: protocol_annotations(protocol, &networks),
                volumes: volumes(protocol),
                mounts: volume_mounts(protocol),
                sidecars: vec![sidecar(protocol)],
                capabilities: protocol.capabilities,
                ..PodAdditions::default()
            },
        },
        Technology::Rdma(adapters) => InterconnectSettings {
            env: adapters.env(),
            huge_pages_mib: 0,
            additions: rdma_additions(adapters, written.value.is_managed(), &networks),
        },
    }
}

/// The parts of pods that use RDMA adapters, through claims if GKE manages them.
fn rdma_additions(adapters: &Adapters, is_managed: bool, networks: &[&str]) -> PodAdditions {
    let driver = format!("{}/lib64", super::super::os::DRIVER_ROOT);
    let mut volumes = vec![host_path_volume(LIBRARY_VOLUME, &driver)];
    let mut mounts = vec![volume_mount(LIBRARY_VOLUME, LIBRARY_DIR)];
    if matches!(adapters.plugin, Plugin::Node(_)) {
        volumes.push(host_path_volume(PLUGIN_VOLUME, GIB_NODE_DIR));
        mounts.push(volume_mount(PLUGIN_VOLUME, GIB_DIR));
    }
    let mut additions = PodAdditions {
        volumes,
        mounts,
        // RDMA devices access pinned memory.
        capabilities: &["IPC_LOCK"],
        setup: Some(adapters.setup()),
        ..PodAdditions::default()
    };
    if is_managed {
        let (key, value) = PROFILE_LABEL;
        additions.claims.push(adapters.claim());
        additions.node_selector.insert(key.to_owned(), value.into());
    } else {
        // The second interface is that of the host, which pods do not need.
        let adapters = networks.iter().enumerate().skip(1);
        let interfaces = adapters.map(|(index, network)| (index + 1, *network));
        additions.annotations = interface_annotations(interfaces);
    }
    additions
}

/// Annotations for the interfaces of the pod, which GKE creates, and for the devices that the node injects into the
/// daemon.
///
/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods (2026-11-22);
/// container-engine-accelerators@cf2cc6e7 `nri_device_injector/README.md`.
fn protocol_annotations(protocol: &Protocol, networks: &[&str]) -> Map<String, Value> {
    let gpus = (0..8).map(|index| format!("/dev/nvidia{index}"));
    let additional = ["/dev/nvidiactl", "/dev/nvidia-uvm"]
        .iter()
        .chain(protocol.daemon.devices);
    let devices: Vec<_> = gpus
        .chain(additional.map(|path| (*path).to_owned()))
        .map(|path| format!("- path: {path}\n"))
        .collect();
    let key = format!("devices.gke.io/container.{}", sidecar_name(protocol));
    let interfaces = networks.iter().enumerate();
    let interfaces = interfaces.map(|(index, network)| (index + 1, *network));
    std::iter::once((key, json!(devices.concat())))
        .chain(interface_annotations(interfaces))
        .collect()
}

/// Annotations for the interfaces of the pod, each with the number in its name. The first one is that of the cluster.
fn interface_annotations<'n>(
    networks: impl Iterator<Item = (usize, &'n str)>,
) -> Map<String, Value> {
    let interfaces: Vec<_> = std::iter::once((0, "default"))
        .chain(networks)
        .map(|(index, network)| {
            json!({"interfaceName": format!("eth{index}"), "network": network}).to_string()
        })
        .collect();
    Map::from_iter([
        (
            "networking.gke.io/default-interface".to_owned(),
            json!("eth0"),
        ),
        (
            "networking.gke.io/interfaces".to_owned(),
            json!(format!("[\n{}\n]\n", interfaces.join(",\n"))),
        ),
    ])
}

fn sidecar_name(protocol: &Protocol) -> String {
    format!("{}-daemon", protocol.name)
}

fn volumes(protocol: &Protocol) -> Vec<Value> {
    let driver = format!("{}/lib64", super::super::os::DRIVER_ROOT);
    let mut volumes = vec![
        host_path_volume(LIBRARY_VOLUME, &driver),
        host_path_volume(SYS_VOLUME, "/sys"),
        host_path_volume(PROC_SYS_VOLUME, "/proc/sys"),
    ];
    if protocol.has_apertures {
        volumes.push(host_path_volume(APERTURE_VOLUME, APERTURE_DIR));
    }
    if protocol.daemon.socket_dir.is_some() {
        volumes.push(json!({"name": SOCKET_VOLUME, "emptyDir": {}}));
    }
    volumes
}

fn host_path_volume(name: &str, path: &str) -> Value {
    json!({"name": name, "hostPath": {"path": path}})
}

fn volume_mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}

/// Volume mounts of the main container.
fn volume_mounts(protocol: &Protocol) -> Vec<Value> {
    let mut mounts = vec![volume_mount(LIBRARY_VOLUME, LIBRARY_DIR)];
    if protocol.has_apertures {
        mounts.push(volume_mount(APERTURE_VOLUME, APERTURE_DIR));
    }
    mounts.extend(
        protocol
            .daemon
            .socket_dir
            .map(|path| volume_mount(SOCKET_VOLUME, path)),
    );
    mounts
}

/// A sidecar container that starts before the main containers and ends after them, so that jobs can complete.
///
/// Source: container-engine-accelerators@3aa66cbe `gpudirect-tcpxo/best-practice.md`, on sidecars and startup probes.
fn sidecar(protocol: &Protocol) -> Value {
    let Sidecar {
        image,
        command,
        capabilities,
        health_file: ready,
        socket_dir: sockets,
        ..
    } = protocol.daemon;
    let mut env = vec![json!({"name": "LD_LIBRARY_PATH", "value": LIBRARY_DIR})];
    let mut mounts = vec![
        volume_mount(LIBRARY_VOLUME, LIBRARY_DIR),
        volume_mount(SYS_VOLUME, "/hostsysfs"),
        volume_mount(PROC_SYS_VOLUME, "/hostprocsysfs"),
    ];
    mounts.extend(sockets.map(|path| volume_mount(SOCKET_VOLUME, path)));
    let mut container = json!({
        "name": sidecar_name(protocol),
        "image": image,
        "command": command,
        "restartPolicy": "Always",
        // Google's examples do not set a seccomp profile, so no system calls are filtered.
        "securityContext": {
            "runAsUser": 0,
            "runAsNonRoot": false,
            "capabilities": {"add": capabilities},
            "seccompProfile": {"type": "Unconfined"},
        },
        "volumeMounts": mounts,
    });
    if let Some(file) = ready {
        env.push(json!({"name": "HEALTH_CHECK_LOG_FILE", "value": file}));
        container["startupProbe"] = json!({
            "exec": {"command": ["cat", file]},
            "periodSeconds": PROBE_PERIOD_SECONDS,
            "failureThreshold": PROBE_FAILURES,
        });
    }
    container["env"] = Value::Array(env);
    container
}
