//! DaemonSets that prepare the nodes of a pool: the installer of the NCCL plugin; with TCP the device injector, and on
//! bare metal the configuration of the adapters.

use gpuc_model::derive::{early_tolerations, origins};
use gpuc_model::plan::Object;
use gpuc_model::{DaemonSetRequests, POOL_LABEL, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::rdma::{GIB_NODE_DIR, Plugin};
use super::tcp::Protocol;
use super::{Adapters, COMPONENT, Technology};

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
    technology: Technology,
) -> Vec<Object> {
    let (daemon_sets, reason, source) = match technology {
        Technology::Tcp(protocol) => (
            protocol_specs(protocol).into(),
            "GPUDirect requires the NCCL plugin and the device injector on the nodes",
            "GoogleCloudPlatform/container-engine-accelerators@10c8d237",
        ),
        Technology::Rdma(adapters) => (
            vec![adapter_spec(adapters)],
            "GPUDirect RDMA requires software on the nodes",
            "GoogleCloudPlatform/container-engine-accelerators@992db812 gpudirect-rdma, asapd-lite-installer",
        ),
    };
    let object = |(name, spec): (&'static str, Value)| {
        let spans = origins::placement_spans(pool)
            .into_iter()
            .chain([written.span]);
        let origin = Origin::fact(spans, reason, source);
        Object::new(COMPONENT, &daemon_set(pool, name, spec), origin)
    };
    daemon_sets.into_iter().map(object).collect()
}

/// The pods of the DaemonSets of a protocol over TCP, with their names.
fn protocol_specs(protocol: &Protocol) -> [(&'static str, Value); 2] {
    let plugin = json!({
        "initContainers": installer_containers(protocol),
        "containers": [pause_container()],
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
    [(protocol.installer, plugin), (INJECTOR_NAME, injector)]
}

/// The name of the DaemonSet that installs NCCL's plugin for RDMA.
const GIB_INSTALLER: &str = "nccl-rdma-installer";

/// The name of the DaemonSet that configures the adapters of bare-metal nodes.
const ADAPTER_DAEMON: &str = "asapd-lite";

/// Configures the adapters of bare-metal nodes and keeps them running. Google's manifest has a second container, for
/// network statistics, which gpuc leaves out.
///
/// Source: container-engine-accelerators@992db812 `asapd-lite-installer/asapd-lite-installer-a4x-max-bm-cos.yaml`.
const ADAPTER_IMAGE: &str = "us-docker.pkg.dev/gce-ai-infra/asapd-lite/asapd-lite:v0.0.8";

/// Starts the daemon. An interface whose IPv6 address failed the detection of duplicates has none until it restarts:
/// the script restarts such interfaces, and then itself.
const ADAPTER_SCRIPT: &str = r#"/usr/local/bin/run_asapd_lite.sh --run_hairpin_probe=true \
  --hairpin_sender_port_start=12345 --hairpin_receiver_port_start=23456 --metrics_domain=prod
sleep 15
restarted=no
for path in /sys/class/net/gpu*; do
  name=${path##*/}
  if ip -6 address show dev "$name" | grep -q dadfailed; then
    ip link set dev "$name" down
    ip link set dev "$name" up
    restarted=yes
  fi
done
if [ "$restarted" = yes ]; then exit 1; fi
wait
"#;

/// The port of the daemon's health check, on the network of the node.
const ADAPTER_HEALTH_PORT: u16 = 19540;

/// Directories of the node that the daemon of bare-metal adapters uses.
const ADAPTER_FOLDERS: &[(&str, &str)] = &[
    ("sys", "/sys"),
    ("proc", "/proc"),
    ("udev-rules", "/etc/udev/rules.d"),
    ("run-udev", "/run/udev"),
    ("run-asapd", "/run/asapd-lite"),
    ("log-asapd", "/var/log/google/asapd-lite"),
    ("lib-asapd", "/var/lib/google/asapd-lite"),
    ("systemd-system", "/etc/systemd/system"),
    ("run-systemd", "/run/systemd"),
];

/// Memory in huge pages of 2 MiB that the daemon of bare-metal adapters uses, in GiB. The node reserves it.
pub(in super::super) const ADAPTER_HUGE_PAGES_GIB: u32 = 8;

/// Memory of the daemon of bare-metal adapters, in GiB.
const ADAPTER_MEMORY_GIB: u64 = 1;

/// The pod of the DaemonSet for machines with RDMA adapters, with its name.
fn adapter_spec(adapters: &Adapters) -> (&'static str, Value) {
    match adapters.plugin {
        Plugin::Node(image) => (GIB_INSTALLER, gib_installer_spec(image)),
        Plugin::WorkloadImage => (ADAPTER_DAEMON, adapter_daemon_spec()),
    }
}

/// The plugin's files go to their own directory, and its libraries also to the directory of the driver.
fn gib_installer_spec(image: &str) -> Value {
    let install = "set -ex\n\
                   /scripts/container_entry.sh install\n\
                   cp -r /var/lib/gib/lib64/. /node/driver\n\
                   cp -r /var/lib/gib/. /node/gib\n";
    json!({
        "initContainers": [{
            "name": "install",
            "image": image,
            "command": ["/bin/sh", "-c", install],
            "resources": resource_requests(),
            "securityContext": {"privileged": true},
            "volumeMounts": [volume_mount("driver", "/node/driver"), volume_mount("gib", "/node/gib")],
        }],
        "containers": [pause_container()],
        "volumes": [
            {"name": "driver", "hostPath": {
                "path": format!("{}/lib64", super::super::os::DRIVER_ROOT), "type": "DirectoryOrCreate",
            }},
            {"name": "gib", "hostPath": {"path": GIB_NODE_DIR, "type": "DirectoryOrCreate"}},
        ],
    })
}

fn adapter_daemon_spec() -> Value {
    let probe = json!({"httpGet": {"path": "/healthz", "port": ADAPTER_HEALTH_PORT}});
    let mut liveness = probe.clone();
    liveness["initialDelaySeconds"] = json!(60);
    let folders = ADAPTER_FOLDERS.iter();
    let mut mounts: Vec<Value> = folders
        .clone()
        .map(|(name, path)| volume_mount(name, path))
        .collect();
    mounts.push(volume_mount("huge-pages", "/hugepages-2Mi"));
    let mut volumes: Vec<Value> = folders
        .map(|(name, path)| host_path_volume(name, path))
        .collect();
    volumes.push(json!({"name": "huge-pages", "emptyDir": {"medium": "HugePages-2Mi"}}));
    let amounts = json!({
        "cpu": format!("{}m", REQUESTS.0),
        "memory": format!("{ADAPTER_MEMORY_GIB}Gi"),
        "hugepages-2Mi": format!("{ADAPTER_HUGE_PAGES_GIB}Gi"),
    });
    let mut limits = amounts.clone();
    if let Some(limits) = limits.as_object_mut() {
        limits.remove("cpu");
    }
    json!({
        "containers": [{
            "name": "asapd-lite",
            "image": ADAPTER_IMAGE,
            "command": ["/bin/bash", "-c", ADAPTER_SCRIPT],
            "env": [{"name": "LD_LIBRARY_PATH", "value": "/asapd-lite/controller"}],
            "livenessProbe": liveness,
            "readinessProbe": probe,
            "resources": {"requests": amounts, "limits": limits},
            "securityContext": {"privileged": true},
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    })
}

/// The container that keeps an installer pod running.
fn pause_container() -> Value {
    json!({
        "name": "pause",
        "image": PAUSE_IMAGE,
        "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}},
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
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

/// The DaemonSets of a pool with their requests; for an installer those of its init containers, which are the largest.
pub(super) fn daemons(technology: Technology) -> Vec<DaemonSetRequests> {
    match technology {
        Technology::Tcp(protocol) => vec![
            DaemonSetRequests::new(protocol.installer, REQUESTS),
            DaemonSetRequests::new(INJECTOR_NAME, REQUESTS),
        ],
        Technology::Rdma(adapters) => match adapters.plugin {
            Plugin::Node(_) => vec![DaemonSetRequests::new(GIB_INSTALLER, REQUESTS)],
            Plugin::WorkloadImage => {
                vec![DaemonSetRequests::new(
                    ADAPTER_DAEMON,
                    (REQUESTS.0, ADAPTER_MEMORY_GIB * 1024),
                )]
            }
        },
    }
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
