//! Parts of pods that use GPUDirect, in addition to the user's settings: the interfaces of the node, the sidecar that
//! moves packets between these and the GPUs, and the libraries on the node.

use gpuc_model::Pool;
use gpuc_model::cloud::{FabricSettings, PodParts};
use serde_json::{Map, Value, json};

use super::{Daemon, LIBRARIES, Protocol, protocol};

/// Directory of the aperture devices, which pods open themselves.
pub(super) const APERTURES: &str = "/dev/aperture_devices";

/// Names of volumes. They are longer than names that users can set.
const DRIVER: &str = "gpudirect-node-libraries";
const DEVICES: &str = "gpudirect-node-apertures";
const SYS: &str = "gpudirect-node-sys-folder";
const PROC_SYS: &str = "gpudirect-node-proc-sys";
const SHARED: &str = "gpudirect-daemon-sockets";

/// Period and number of attempts of the startup probe: the daemon needs about 30 seconds to start.
const PERIOD: u32 = 5;
const TRIES: u32 = 24;

/// GPUDirect settings for pods of multi-node workloads of a pool.
pub(in super::super) fn settings(pool: &Pool) -> FabricSettings {
    let written = pool.settings.network.gpudirect.as_ref();
    let (Some(written), Ok(protocol)) = (written, protocol(pool)) else {
        return FabricSettings::default();
    };
    let networks = written.interfaces.iter();
    let networks: Vec<_> = networks
        .map(|interface| interface.subnetwork.as_str())
        .collect();
    FabricSettings {
        env: protocol.env,
        huge_pages_mib: 0,
        parts: PodParts {
            annotations: annotations(protocol, &networks),
            volumes: volumes(protocol),
            mounts: mounts(protocol),
            sidecars: vec![daemon(protocol)],
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
    let key = format!("devices.gke.io/container.{}", daemon_name(protocol));
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

fn daemon_name(protocol: &Protocol) -> String {
    format!("{}-daemon", protocol.name)
}

fn volumes(protocol: &Protocol) -> Vec<Value> {
    let host_path = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path}});
    let driver = format!("{}/lib64", super::super::os::DRIVER_ROOT);
    let mut volumes = vec![
        host_path(DRIVER, &driver),
        host_path(SYS, "/sys"),
        host_path(PROC_SYS, "/proc/sys"),
    ];
    if protocol.has_apertures {
        volumes.push(host_path(DEVICES, APERTURES));
    }
    if protocol.daemon.sockets.is_some() {
        volumes.push(json!({"name": SHARED, "emptyDir": {}}));
    }
    volumes
}

fn mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}

/// Volume mounts of the main container.
fn mounts(protocol: &Protocol) -> Vec<Value> {
    let mut mounts = vec![mount(DRIVER, LIBRARIES)];
    if protocol.has_apertures {
        mounts.push(mount(DEVICES, APERTURES));
    }
    mounts.extend(protocol.daemon.sockets.map(|path| mount(SHARED, path)));
    mounts
}

/// A sidecar container that starts before the main containers and ends after them, so that jobs can complete.
///
/// Source: container-engine-accelerators@3aa66cbe `gpudirect-tcpxo/best-practice.md`, on sidecars and startup probes.
fn daemon(protocol: &Protocol) -> Value {
    let Daemon {
        image,
        command,
        capabilities,
        ready,
        sockets,
        ..
    } = protocol.daemon;
    let mut env = vec![json!({"name": "LD_LIBRARY_PATH", "value": LIBRARIES})];
    let mut mounts = vec![
        mount(DRIVER, LIBRARIES),
        mount(SYS, "/hostsysfs"),
        mount(PROC_SYS, "/hostprocsysfs"),
    ];
    mounts.extend(sockets.map(|path| mount(SHARED, path)));
    let mut container = json!({
        "name": daemon_name(protocol),
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
            "periodSeconds": PERIOD,
            "failureThreshold": TRIES,
        });
    }
    container["env"] = Value::Array(env);
    container
}
