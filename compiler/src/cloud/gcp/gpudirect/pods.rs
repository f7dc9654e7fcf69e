//! What pods that use it have beside what users write: the node's interfaces, what moves packets between these and the
//! GPUs, and the libraries that the node has got.

use serde_json::{Map, Value, json};

use super::{Daemon, LIBRARIES, Protocol, protocol};
use crate::cloud::{FabricSettings, PodParts};
use crate::model::Pool;

/// Where pods find the devices that they open themselves.
pub(super) const APERTURES: &str = "/dev/aperture_devices";

/// Names of volumes. They are longer than users' may be.
const DRIVER: &str = "gpudirect-node-libraries";
const DEVICES: &str = "gpudirect-node-apertures";
const SYS: &str = "gpudirect-node-sys-folder";
const PROC_SYS: &str = "gpudirect-node-proc-sys";
const SHARED: &str = "gpudirect-daemon-sockets";

/// How often the daemon is asked whether it is ready, and how many times: it takes some 30 seconds.
const PERIOD: u32 = 5;
const TRIES: u32 = 24;

/// What pods of workloads on several nodes of a pool have.
pub(in super::super) fn settings(pool: &Pool) -> FabricSettings {
    let written = pool.written.network.gpudirect.as_ref();
    let (Some(written), Ok(protocol)) = (written, protocol(pool)) else {
        return FabricSettings::default();
    };
    let networks = written.interfaces.iter();
    let networks: Vec<_> = networks.map(|it| it.subnetwork.as_str()).collect();
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

/// The interfaces that GKE gives the pod, and the devices that the node's injector gives the daemon.
///
/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods (2026-11-22);
/// container-engine-accelerators@cf2cc6e7 `nri_device_injector/README.md`.
fn annotations(protocol: &Protocol, networks: &[&str]) -> Map<String, Value> {
    let all = std::iter::once(&"default").chain(networks);
    let interfaces = all.enumerate();
    let interfaces = interfaces.map(|(index, network)| {
        json!({"interfaceName": format!("eth{index}"), "network": network}).to_string()
    });
    let interfaces: Vec<_> = interfaces.collect();
    let gpus = (0..8).map(|index| format!("/dev/nvidia{index}"));
    let more = ["/dev/nvidiactl", "/dev/nvidia-uvm"];
    let more = more.iter().chain(protocol.daemon.devices);
    let devices = gpus.chain(more.map(|path| (*path).to_owned()));
    let devices: Vec<_> = devices.map(|path| format!("- path: {path}\n")).collect();
    let key = format!("devices.gke.io/container.{}", name(protocol));
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

fn name(protocol: &Protocol) -> String {
    format!("{}-daemon", protocol.word)
}

fn volumes(protocol: &Protocol) -> Vec<Value> {
    let of_node = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path}});
    let driver = format!("{}/lib64", super::super::os::DRIVER_ROOT);
    let mut volumes = vec![
        of_node(DRIVER, &driver),
        of_node(SYS, "/sys"),
        of_node(PROC_SYS, "/proc/sys"),
    ];
    if protocol.has_apertures {
        volumes.push(of_node(DEVICES, APERTURES));
    }
    if protocol.daemon.sockets.is_some() {
        volumes.push(json!({"name": SHARED, "emptyDir": {}}));
    }
    volumes
}

fn mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}

/// Where the pod's own container sees them.
fn mounts(protocol: &Protocol) -> Vec<Value> {
    let mut mounts = vec![mount(DRIVER, LIBRARIES)];
    if protocol.has_apertures {
        mounts.push(mount(DEVICES, APERTURES));
    }
    mounts.extend(protocol.daemon.sockets.map(|path| mount(SHARED, path)));
    mounts
}

/// A container that starts before the pod's own and ends after it, so that jobs end.
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
        "name": name(protocol),
        "image": image,
        "command": command,
        "restartPolicy": "Always",
        // Google's examples say nothing of calls to the kernel, and so filter none.
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
