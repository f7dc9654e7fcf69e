//! Parts of pods that use GPUDirect, in addition to the user's settings: the interfaces of the node, the sidecar that
//! moves packets between these and the GPUs, and the libraries on the node.

use gpuc_model::Pool;
use gpuc_model::cloud::{InterconnectSettings, PodAdditions};
use serde_json::{Map, Value, json};

use super::{LIBRARY_DIR, Protocol, Sidecar, pool_protocol};

/// Directory of the aperture devices, which pods open themselves.
pub(super) const APERTURE_DIR: &str = "/dev/aperture_devices";

/// Names of volumes. They are longer than names that users can set.
const LIBRARY_VOLUME: &str = "gpudirect-node-libraries";
const APERTURE_VOLUME: &str = "gpudirect-node-apertures";
const SYS_VOLUME: &str = "gpudirect-node-sys-folder";
const PROC_SYS_VOLUME: &str = "gpudirect-node-proc-sys";
const SOCKET_VOLUME: &str = "gpudirect-daemon-sockets";

/// Period and number of attempts of the startup probe: the daemon needs about 30 seconds to start.
const PROBE_PERIOD_SECONDS: u32 = 5;
const PROBE_FAILURES: u32 = 24;

/// GPUDirect settings for pods of multi-node workloads of a pool.
pub(in super::super) fn pod_settings(pool: &Pool) -> InterconnectSettings {
    let written = pool.settings.network.gpudirect.as_ref();
    let (Some(written), Ok(protocol)) = (written, pool_protocol(pool)) else {
        return InterconnectSettings::default();
    };
    let networks = written.interfaces.iter();
    let networks: Vec<_> = networks
        .map(|interface| interface.subnetwork.as_str())
        .collect();
    InterconnectSettings {
        env: protocol.env,
        huge_pages_mib: 0,
        additions: PodAdditions {
            annotations: annotations(protocol, &networks),
            volumes: volumes(protocol),
            mounts: volume_mounts(protocol),
            sidecars: vec![sidecar(protocol)],
            capabilities: protocol.capabilities,
        },
    }
}

/// Annotations for the interfaces of the pod, which GKE creates, and for the devices that the node injects into the
/// daemon.
///
/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods (2026-11-22);
/// container-engine-accelerators@cf2cc6e7 `nri_device_injector/README.md`.
fn annotations(protocol: &Protocol, networks: &[&str]) -> Map<String, Value> {
    let interfaces: Vec<_> = (std::iter::once(&"default").chain(networks).enumerate())
        .map(|(index, network)| {
            json!({"interfaceName": format!("eth{index}"), "network": network}).to_string()
        })
        .collect();
    let gpus = (0..8).map(|index| format!("/dev/nvidia{index}"));
    let additional = ["/dev/nvidiactl", "/dev/nvidia-uvm"]
        .iter()
        .chain(protocol.daemon.devices);
    let devices: Vec<_> = gpus
        .chain(additional.map(|path| (*path).to_owned()))
        .map(|path| format!("- path: {path}\n"))
        .collect();
    let key = format!("devices.gke.io/container.{}", sidecar_name(protocol));
    Map::from_iter([
        (key, json!(devices.concat())),
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
    let host_path = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path}});
    let driver = format!("{}/lib64", super::super::os::DRIVER_ROOT);
    let mut volumes = vec![
        host_path(LIBRARY_VOLUME, &driver),
        host_path(SYS_VOLUME, "/sys"),
        host_path(PROC_SYS_VOLUME, "/proc/sys"),
    ];
    if protocol.has_apertures {
        volumes.push(host_path(APERTURE_VOLUME, APERTURE_DIR));
    }
    if protocol.daemon.socket_dir.is_some() {
        volumes.push(json!({"name": SOCKET_VOLUME, "emptyDir": {}}));
    }
    volumes
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
