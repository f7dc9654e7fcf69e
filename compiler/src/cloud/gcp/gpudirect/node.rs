//! What makes a pool's nodes ready: NCCL's plugin below the driver's folder, and what gives devices to the daemon.

use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;
use serde_json::{Value, json};

use super::{COMPONENT, Protocol};
use crate::lower::{early_tolerations, inputs};
use crate::model::{Daemon, POOL_LABEL, Pool};
use crate::node::Origin;
use crate::plan::Object;

const NAMESPACE: &str = "kube-system";

/// Keeps a pod alive after its work is done, so that it is not done again and again.
///
/// Source: container-engine-accelerators@10c8d237 `gpudirect-tcpxo/nccl-tcpxo-installer.yaml`.
const PAUSE: &str =
    "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830";

/// Gives containers the devices that a pod's annotations name, past the container runtime's own plugins. These are on
/// since GKE 1.29 (NVIDIA/aicr@2ec8da83 `recipes/components/gke-nccl-tcpxo/manifests/nri-device-injector.yaml`), so
/// that nothing switches them on here.
///
/// Source: container-engine-accelerators@09c9c53c `nri_device_injector/nri-device-injector.yaml`.
const INJECTOR: &str = "gcr.io/gke-release/nri-device-injector@sha256:\
                        6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970";

const INJECTOR_NAME: &str = "gpudirect-device-injector";

/// Has a shell and `nsenter`, by which the node's own programs are started.
const SHELL: &str = "docker.io/library/ubuntu:24.04";

/// What is done on the node before its plugin works: packets to the GPUs' interfaces are let in, the driver that hands
/// memory of GPUs to the interfaces is loaded, and the devices of these (Google's 1ae0:0084) are where pods mount them.
///
/// Source: the container `pre-installation` of container-engine-accelerators@10c8d237
/// `gpudirect-tcpxo/nccl-tcpxo-installer.yaml`.
const PREPARE: &str = r#"set -e
iptables -C INPUT -p tcp -m tcp -j ACCEPT || iptables -I INPUT -p tcp -m tcp -j ACCEPT
modprobe import-helper
for device in $(lspci -nn -D | grep 1ae0:0084 | cut -d ' ' -f 1); do
  place="/dev/aperture_devices/$device"
  mkdir -p "$place"
  umount -R "$place" || true
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$device")" "$place"
  chmod a+rw "$place"/resource*
done
chmod -R a+r /dev/aperture_devices
"#;

/// The `DaemonSets` of a pool.
pub(super) fn daemon_sets(
    pool: &Pool,
    written: &Spanned<Gpudirect>,
    protocol: &Protocol,
) -> [Object; 2] {
    let plugin = json!({
        "initContainers": installers(protocol),
        "containers": [{
            "name": "pause",
            "image": PAUSE,
            "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}},
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
        }],
        "volumes": [folder("var-lib", "/var/lib"), folder("node-bin", "/home/kubernetes/bin")],
    });
    let injector = json!({
        "containers": [{
            "name": "device-injector",
            "image": INJECTOR,
            "resources": requests(),
            "securityContext": {"privileged": true},
            "volumeMounts": [mount("dev", "/dev"), mount("nri", "/var/run/nri")],
        }],
        "volumes": [folder("dev", "/dev"), folder("nri", "/var/run/nri")],
    });
    let named = [(protocol.installer, plugin), (INJECTOR_NAME, injector)];
    named.map(|(name, spec)| {
        let spans = inputs::placement(pool).into_iter().chain([written.span]);
        let origin = Origin::fact(
            spans,
            "NCCL's plugin is on the nodes, and its daemon gets devices there",
            "GoogleCloudPlatform/container-engine-accelerators@10c8d237",
        );
        Object::new(COMPONENT, &daemon_set(pool, name, spec), origin)
    })
}

/// The node itself where it has devices to prepare, then the plugin: into the folder that containers see the driver in.
fn installers(protocol: &Protocol) -> Vec<Value> {
    let mut all = Vec::new();
    if protocol.has_apertures {
        all.push(json!({
            "name": "prepare",
            "image": SHELL,
            "command": ["nsenter", "-at", "1", "--", "sh", "-c", PREPARE],
            "resources": requests(),
            "securityContext": {"privileged": true},
        }));
    }
    let install = format!(
        "set -ex\n\
         chmod 755 /scripts/container_entry.sh\n\
         /scripts/container_entry.sh install --install-nccl\n\
         mkdir -p /usr/local/nvidia/lib64\n\
         cp -r /var/lib/{}/lib64/. /usr/local/nvidia/lib64\n",
        protocol.word
    );
    all.push(json!({
        "name": "install",
        "image": protocol.plugin,
        "command": ["/bin/sh", "-c", install],
        "resources": requests(),
        "securityContext": {"privileged": true},
        "volumeMounts": [mount("var-lib", "/var/lib"), mount("node-bin", "/usr/local")],
    }));
    all
}

fn daemon_set(pool: &Pool, name: &str, mut spec: Value) -> Value {
    let labels = json!({"app.kubernetes.io/name": name, POOL_LABEL: pool.name.value});
    let expressions = pool.selector.iter();
    let expressions = expressions
        .map(|label| json!({"key": label.key, "operator": "In", "values": [label.value]}));
    let expressions: Vec<_> = expressions.collect();
    spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": expressions}],
    }}});
    spec["automountServiceAccountToken"] = json!(false);
    spec["hostNetwork"] = json!(true);
    spec["hostPID"] = json!(true);
    spec["priorityClassName"] = json!("system-node-critical");
    let tolerations = early_tolerations(pool);
    if !tolerations.is_empty() {
        spec["tolerations"] = json!(tolerations);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": format!("{name}-{}", pool.name),
            "namespace": NAMESPACE,
            "labels": labels,
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    })
}

/// What each container but the pause asks for: thousandths of a core, and MiB.
const ASKS: (u64, u64) = (150, 256);

/// What the `DaemonSets` of a pool take of a node: the installer at its first containers, which are the largest.
pub(super) fn daemons(protocol: &Protocol) -> [Daemon; 2] {
    [
        Daemon::new(protocol.installer, ASKS),
        Daemon::new(INJECTOR_NAME, ASKS),
    ]
}

fn requests() -> Value {
    let (cpu, mib) = ASKS;
    json!({"requests": {"cpu": format!("{cpu}m"), "memory": format!("{mib}Mi")}})
}

fn folder(name: &str, path: &str) -> Value {
    json!({"name": name, "hostPath": {"path": path}})
}

fn mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}
