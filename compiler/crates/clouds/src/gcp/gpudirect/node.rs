//! DaemonSets that prepare the nodes of a pool: the installer of the NCCL plugin, and the device injector.

use gpuc_model::derive::{early_tolerations, origins};
use gpuc_model::plan::Object;
use gpuc_model::{DaemonSetRequests, POOL_LABEL, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::{COMPONENT, Protocol};

const NAMESPACE: &str = "kube-system";

/// Keeps a pod running after its init containers, so that they do not run again.
///
/// Source: container-engine-accelerators@10c8d237 `gpudirect-tcpxo/nccl-tcpxo-installer.yaml`.
const PAUSE_IMAGE: &str =
    "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830";

/// Injects the devices that a pod's annotations name into its containers, through the NRI plugins of the container
/// runtime. These are enabled since GKE 1.29 (NVIDIA/aicr@2ec8da83
/// `recipes/components/gke-nccl-tcpxo/manifests/nri-device-injector.yaml`), so gpuc does not enable them.
///
/// Source: container-engine-accelerators@09c9c53c `nri_device_injector/nri-device-injector.yaml`.
const INJECTOR_IMAGE: &str = "gcr.io/gke-release/nri-device-injector@sha256:\
                        6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970";

const INJECTOR_NAME: &str = "gpudirect-device-injector";

/// Image with a shell and `nsenter`, which starts programs of the node.
const SHELL_IMAGE: &str = "docker.io/library/ubuntu:24.04";

/// Preparation of the node for the plugin: accepts packets to the GPU interfaces, loads the kernel module that shares
/// GPU memory with the interfaces, and mounts the devices of these (Google's 1ae0:0084) where pods expect them.
///
/// Source: the container `pre-installation` of container-engine-accelerators@10c8d237
/// `gpudirect-tcpxo/nccl-tcpxo-installer.yaml`.
const PREPARE_SCRIPT: &str = r#"set -e
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

/// The DaemonSets of a pool.
pub(super) fn daemon_sets(
    pool: &Pool,
    written: &Spanned<Gpudirect>,
    protocol: &Protocol,
) -> [Object; 2] {
    let plugin = json!({
        "initContainers": installer_containers(protocol),
        "containers": [{
            "name": "pause",
            "image": PAUSE_IMAGE,
            "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}},
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
        }],
        "volumes": [host_path_volume("var-lib", "/var/lib"), host_path_volume("node-bin", "/home/kubernetes/bin")],
    });
    let injector = json!({
        "containers": [{
            "name": "device-injector",
            "image": INJECTOR_IMAGE,
            "resources": resource_requests(),
            "securityContext": {"privileged": true},
            "volumeMounts": [volume_mount("dev", "/dev"), volume_mount("nri", "/var/run/nri")],
        }],
        "volumes": [host_path_volume("dev", "/dev"), host_path_volume("nri", "/var/run/nri")],
    });
    let daemon_sets = [(protocol.installer, plugin), (INJECTOR_NAME, injector)];
    daemon_sets.map(|(name, spec)| {
        let spans = origins::placement_spans(pool)
            .into_iter()
            .chain([written.span]);
        let origin = Origin::fact(
            spans,
            "GPUDirect requires the NCCL plugin and the device injector on the nodes",
            "GoogleCloudPlatform/container-engine-accelerators@10c8d237",
        );
        Object::new(COMPONENT, &daemon_set(pool, name, spec), origin)
    })
}

/// Init containers: the preparation of the node, if it has aperture devices, and the plugin, which is installed to the
/// driver directory of containers.
fn installer_containers(protocol: &Protocol) -> Vec<Value> {
    let mut containers = Vec::new();
    if protocol.has_apertures {
        containers.push(json!({
            "name": "prepare",
            "image": SHELL_IMAGE,
            "command": ["nsenter", "-at", "1", "--", "sh", "-c", PREPARE_SCRIPT],
            "resources": resource_requests(),
            "securityContext": {"privileged": true},
        }));
    }
    let install = format!(
        "set -ex\n\
         chmod 755 /scripts/container_entry.sh\n\
         /scripts/container_entry.sh install --install-nccl\n\
         mkdir -p /usr/local/nvidia/lib64\n\
         cp -r /var/lib/{}/lib64/. /usr/local/nvidia/lib64\n",
        protocol.name
    );
    containers.push(json!({
        "name": "install",
        "image": protocol.plugin,
        "command": ["/bin/sh", "-c", install],
        "resources": resource_requests(),
        "securityContext": {"privileged": true},
        "volumeMounts": [volume_mount("var-lib", "/var/lib"), volume_mount("node-bin", "/usr/local")],
    }));
    containers
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

/// Requests of each container except the pause container: millicores and MiB.
const REQUESTS: (u64, u64) = (150, 256);

/// The DaemonSets of a pool with their requests; for the installer those of its init containers, which are the largest.
pub(super) fn protocol_daemons(protocol: &Protocol) -> [DaemonSetRequests; 2] {
    [
        DaemonSetRequests::new(protocol.installer, REQUESTS),
        DaemonSetRequests::new(INJECTOR_NAME, REQUESTS),
    ]
}

fn resource_requests() -> Value {
    let (cpu, mib) = REQUESTS;
    json!({"requests": {"cpu": format!("{cpu}m"), "memory": format!("{mib}Mi")}})
}

fn host_path_volume(name: &str, path: &str) -> Value {
    json!({"name": name, "hostPath": {"path": path}})
}

fn volume_mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}
