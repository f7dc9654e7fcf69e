//! The containers of gpuc-runtime's pods: commands, host volumes and minimal permissions.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::cloud::Injection;
use gpuc_model::{Pool, RUNTIME_REQUESTS, Sharing};
use gpuc_schema::config::NodeLabels;
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, EnvVar,
    EnvVarSource, HTTPGetAction, HostPathVolumeSource, ObjectFieldSelector, Probe,
    ResourceRequirements, SeccompProfile, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{CONFIG_FILE, driver_folders, pool_name};
use crate::lower::node_config::{CDI_DIR, FEATURES_DIR, MPS_ROOT, driver_access, node_config};

const CONFIG_DIR: &str = "/etc/gpuc";

/// The mount path of the host's device nodes.
const HOST_DEV: &str = "/host-dev";

/// The environment variable that selects the driver libraries and programs that NVIDIA's container runtime mounts.
const CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";

/// The name of the port for metrics and probes.
const PORT: &str = "metrics";

/// Mount paths, which do not depend on the kubelet's folder on the host.
const DEVICE_PLUGINS: &str = "/var/lib/kubelet/device-plugins";
const POD_RESOURCES: &str = "/var/lib/kubelet/pod-resources";

/// The folder of the health records: they outlive the container, but not the pod.
const STATE: &str = "/run/gpuc";

/// The plugin, and for the Multi-Process Service its control daemon.
pub(super) fn containers(cluster: &Checked<'_>, pool: &Pool) -> Vec<Container> {
    let mut plugin = container(cluster, pool, "plugin", &["serve"]);
    let mounts = plugin.volume_mounts.get_or_insert_default();
    mounts.push(volume_mount("device-plugins", DEVICE_PLUGINS, false));
    mounts.push(volume_mount("pod-resources", POD_RESOURCES, true));
    mounts.push(volume_mount("state", STATE, false));
    if driver_access(cluster, pool).injection == Injection::Cdi {
        mounts.push(volume_mount("cdi", CDI_DIR, false));
    }
    if pool.node_labels.value == NodeLabels::FeatureFile {
        mounts.push(volume_mount("features", FEATURES_DIR, false));
    }
    if needs_host_dev(cluster, pool) {
        mounts.push(VolumeMount {
            mount_propagation: Some("HostToContainer".to_owned()),
            ..volume_mount("dev", HOST_DEV, true)
        });
        plugin
            .args
            .get_or_insert_default()
            .push(format!("--dev={HOST_DEV}"));
    }
    plugin
        .args
        .get_or_insert_default()
        .push(format!("--state={STATE}"));
    plugin.ports = Some(vec![ContainerPort {
        name: Some(PORT.to_owned()),
        container_port: i32::from(node_config(cluster, pool).metrics.port),
        ..ContainerPort::default()
    }]);
    plugin.liveness_probe = Some(probe("/healthz", 30));
    plugin.readiness_probe = Some(probe("/readyz", 10));
    let mut containers = vec![plugin];
    if let Sharing::Mps { .. } = pool.sharing.expect_resolved() {
        let mut daemon = container(cluster, pool, "mps-control", &["mps"]);
        // It sets the exclusive-process mode of GPUs, which requires administrator permissions on the device.
        daemon.security_context = Some(privileged_context());
        let variables = daemon.env.iter_mut().flatten();
        for variable in variables.filter(|variable| variable.name == CAPABILITIES) {
            // The control daemon's program belongs to the capability `compute`.
            variable.value = Some("compute,utility".to_owned());
        }
        let mounts = daemon.volume_mounts.get_or_insert_default();
        // The daemon and its clients communicate through shared memory, so they mount the same host folder.
        mounts.push(VolumeMount {
            sub_path: Some("shm".to_owned()),
            ..volume_mount("mps", "/dev/shm", false)
        });
        for container in [&mut containers[0], &mut daemon] {
            let mounts = container.volume_mounts.get_or_insert_default();
            mounts.push(volume_mount("mps", MPS_ROOT, false));
        }
        containers.push(daemon);
    }
    containers
}

/// If gpuc-runtime partitions the GPUs, an init container does so before the plugin registers.
pub(super) fn init_containers(cluster: &Checked<'_>, pool: &Pool) -> Option<Vec<Container>> {
    let partitions = matches!(pool.sharing.expect_resolved(), Sharing::Mig { .. })
        && !cluster.cloud.partitions_gpus(pool);
    partitions.then(|| {
        let mut container = container(cluster, pool, "mig", &["mig", "apply"]);
        // Changing a GPU's MIG mode requires administrator permissions on the device.
        container.security_context = Some(privileged_context());
        vec![container]
    })
}

/// The host volumes of the containers.
pub(super) fn volumes(cluster: &Checked<'_>, pool: &Pool) -> Vec<Volume> {
    let access = driver_access(cluster, pool);
    let kubelet = cluster.cloud.facts().kubelet_dir;
    let mut volumes = vec![
        Volume {
            name: "config".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: pool_name(pool),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        host_volume(
            "device-plugins",
            &format!("{kubelet}/device-plugins"),
            "Directory",
        ),
        host_volume(
            "pod-resources",
            &format!("{kubelet}/pod-resources"),
            "Directory",
        ),
        Volume {
            name: "state".to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Quantity("4Mi".to_owned())),
            }),
            ..Volume::default()
        },
    ];
    volumes.extend(driver_folders::volumes(cluster, pool));
    if access.injection == Injection::Cdi {
        volumes.push(host_volume("cdi", CDI_DIR, "DirectoryOrCreate"));
    }
    if pool.node_labels.value == NodeLabels::FeatureFile {
        volumes.push(host_volume("features", FEATURES_DIR, "DirectoryOrCreate"));
    }
    if needs_host_dev(cluster, pool) {
        volumes.push(host_volume("dev", "/dev", "Directory"));
    }
    if let Sharing::Mps { .. } = pool.sharing.expect_resolved() {
        volumes.push(host_volume("mps", MPS_ROOT, "DirectoryOrCreate"));
    }
    volumes
}

/// Whether the plugin must see the host's device nodes, because injected components have device nodes there. A driver
/// root of `/` includes them; a privileged container's own `/dev` has only those that existed when it started.
fn needs_host_dev(cluster: &Checked<'_>, pool: &Pool) -> bool {
    !pool.extras.is_empty() && driver_access(cluster, pool).driver_root != "/"
}

fn container(cluster: &Checked<'_>, pool: &Pool, name: &str, command: &[&str]) -> Container {
    let image = pool.runtime_image.as_ref();
    let image = image.unwrap_or_else(|| unreachable!("GPUC2025 requires the runtime's image"));
    let config = format!("--config={CONFIG_DIR}/{CONFIG_FILE}");
    let args = command.iter().map(ToString::to_string);
    Container {
        name: name.to_owned(),
        image: Some(image.value.clone()),
        args: Some(args.chain([config]).collect()),
        env: Some(environment(pool)),
        resources: Some(resource_requirements()),
        security_context: Some(security_context(cluster, pool)),
        volume_mounts: Some(
            [volume_mount("config", CONFIG_DIR, true)]
                .into_iter()
                .chain(driver_folders::mounts(cluster, pool))
                .collect(),
        ),
        ..Container::default()
    }
}

/// The environment. NVIDIA's container runtime, if the node has it, lets the container query every GPU, but not
/// compute.
fn environment(pool: &Pool) -> Vec<EnvVar> {
    let variable = |name: &str, value: &str| EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        ..EnvVar::default()
    };
    let mut environment = vec![
        EnvVar {
            name: "NODE_NAME".to_owned(),
            value_from: Some(EnvVarSource {
                field_ref: Some(ObjectFieldSelector {
                    field_path: "spec.nodeName".to_owned(),
                    ..ObjectFieldSelector::default()
                }),
                ..EnvVarSource::default()
            }),
            ..EnvVar::default()
        },
        variable("NVIDIA_VISIBLE_DEVICES", "all"),
        variable(CAPABILITIES, "utility"),
    ];
    if let Sharing::Mig { .. } = pool.sharing.expect_resolved() {
        environment.push(variable("NVIDIA_MIG_MONITOR_DEVICES", "all"));
    }
    environment
}

/// The limit is several times the usage of the runtime, so a node with sixteen GPUs does not exceed it.
fn resource_requirements() -> ResourceRequirements {
    let (cpu, mib) = RUNTIME_REQUESTS;
    let amounts = |amounts: &[(&str, String)]| -> BTreeMap<String, Quantity> {
        let amount =
            |(name, amount): &(&str, String)| ((*name).to_owned(), Quantity(amount.clone()));
        amounts.iter().map(amount).collect()
    };
    ResourceRequirements {
        requests: Some(amounts(&[
            ("cpu", format!("{cpu}m")),
            ("memory", format!("{mib}Mi")),
        ])),
        limits: Some(amounts(&[("memory", "128Mi".to_owned())])),
        ..ResourceRequirements::default()
    }
}

/// The minimal permissions to access the devices.
fn security_context(cluster: &Checked<'_>, pool: &Pool) -> SecurityContext {
    let access = driver_access(cluster, pool);
    let injects_devices = match access.injection {
        Injection::EnvironmentVariable => true,
        Injection::Cdi => access.runtime_class.is_some(),
        Injection::DeviceNodes { .. } => false,
    };
    if !injects_devices {
        // No container runtime on the node injects NVIDIA's devices, so only a privileged container can open them.
        return privileged_context();
    }
    // NVML requires administrator permissions to query the MIG devices of a whole node.
    let queries_mig = matches!(pool.sharing.expect_resolved(), Sharing::Mig { .. });
    let add = queries_mig.then(|| vec!["SYS_ADMIN".to_owned()]);
    SecurityContext {
        allow_privilege_escalation: Some(false).filter(|_| !queries_mig),
        capabilities: Some(Capabilities {
            add,
            drop: Some(vec!["ALL".to_owned()]),
        }),
        read_only_root_filesystem: Some(true),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..SecurityContext::default()
    }
}

fn privileged_context() -> SecurityContext {
    SecurityContext {
        privileged: Some(true),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

fn probe(path: &str, period_seconds: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(PORT.to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period_seconds),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}

fn volume_mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn host_volume(name: &str, path: &str, kind: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: path.to_owned(),
            type_: Some(kind.to_owned()),
        }),
        ..Volume::default()
    }
}
