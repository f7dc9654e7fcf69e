//! The DaemonSet that installs the driver if GKE does not. It runs the installer of the node image.
//!
//! Facts: GoogleCloudPlatform/container-engine-accelerators@068b15a9
//! `nvidia-driver-installer/cos/daemonset-preloaded{,-latest}.yaml`, `ubuntu/daemonset-preloaded{,-R580}.yaml` (images,
//! mounts, environment, and the pause image with its digest).

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::derive::components::DRIVER_INSTALLER as COMPONENT;
use gpuc_model::derive::{early_tolerations, origins};
use gpuc_model::plan::Object;
use gpuc_model::{POOL_LABEL, Pool};
use gpuc_schema::config::{DriverOwner, OsFamily};
use gpuc_syntax::node::Origin;
use gpuc_syntax::shell::quote;
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, HostPathVolumeSource, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, PodSpec, PodTemplateSpec, ResourceRequirements,
    SecurityContext, ServiceAccount, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::os::{DRIVER_IN_CONTAINER, DRIVER_ROOT};

const NAMESPACE: &str = "kube-system";

/// Keeps the pod running after the installation, so that the installer does not run again.
const PAUSE_IMAGE: &str =
    "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830";

/// Requests of an installer pod, also after the installation, because Kubernetes accounts for its init container:
/// millicores and MiB.
pub(super) const REQUESTS: (u64, u64) = (150, 256);

/// Whether a DaemonSet installs the driver of a pool.
pub(super) fn is_used(pool: &Pool) -> bool {
    pool.has_gpus() && pool.driver.value == DriverOwner::DaemonSet
}

/// One DaemonSet for each pool whose driver it installs, and their ServiceAccount.
pub(super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let pools: Vec<_> = cluster.pools.iter().filter(|pool| is_used(pool)).collect();
    if pools.is_empty() {
        return Vec::new();
    }
    let account = ServiceAccount {
        metadata: object_meta(COMPONENT, BTreeMap::new()),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    };
    let spans = pools.iter().map(|pool| pool.driver.span);
    let origin = Origin::rule(spans, "a separate ServiceAccount for the driver installer");
    let mut objects = vec![Object::new(COMPONENT, &account, origin)];
    objects.extend(pools.into_iter().map(pool_daemon_set));
    objects
}

fn pool_daemon_set(pool: &Pool) -> Object {
    let labels = BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), COMPONENT.to_owned()),
        (POOL_LABEL.to_owned(), pool.name.value.clone()),
    ]);
    let daemon_set = DaemonSet {
        metadata: object_meta(&format!("{COMPONENT}-{}", pool.name), labels.clone()),
        spec: Some(DaemonSetSpec {
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod_spec(pool)),
            },
            ..DaemonSetSpec::default()
        }),
        ..DaemonSet::default()
    };
    let written = [&pool.driver_image, &pool.driver_version]
        .into_iter()
        .flatten()
        .map(|text| text.span);
    let inputs = ([pool.driver.span, pool.plugin.span, pool.os.span].into_iter())
        .chain(origins::placement_spans(pool))
        .chain(written);
    let origin = Origin::fact(
        inputs,
        "GKE does not install the driver on a node where its device plugin is disabled; this DaemonSet does",
        "NVIDIA/aicr#2047",
    );
    Object::new(COMPONENT, &daemon_set, origin)
}

fn object_meta(name: &str, labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(NAMESPACE.to_owned()),
        labels: Some(labels).filter(|labels| !labels.is_empty()),
        ..ObjectMeta::default()
    }
}

fn pod_spec(pool: &Pool) -> PodSpec {
    let is_ubuntu = pool.os.value == OsFamily::Ubuntu;
    let mounts = if is_ubuntu {
        UBUNTU_MOUNTS
    } else {
        CONTAINER_OPTIMIZED_MOUNTS
    };
    let host = (!is_ubuntu).then_some(true);
    PodSpec {
        affinity: Some(affinity(pool)),
        automount_service_account_token: Some(false),
        containers: vec![pause_container()],
        host_network: host,
        host_pid: host,
        init_containers: Some(vec![install_container(pool, is_ubuntu, mounts)]),
        priority_class_name: Some("system-node-critical".to_owned()),
        service_account_name: Some(COMPONENT.to_owned()),
        // gpuc-runtime waits for the driver before it removes the startup taint.
        tolerations: Some(early_tolerations(pool)).filter(|tolerations| !tolerations.is_empty()),
        volumes: Some(mounts.iter().map(Mount::volume).collect()),
        ..PodSpec::default()
    }
}

/// A host directory and its mount path in the installer.
struct Mount {
    name: &'static str,
    host_path: &'static str,
    container_path: &'static str,
    /// Environment variables with the two paths.
    path_variables: Option<(&'static str, &'static str)>,
}

const fn host_mount(name: &'static str, host: &'static str, container: &'static str) -> Mount {
    Mount {
        name,
        host_path: host,
        container_path: container,
        path_variables: None,
    }
}

const CONTAINER_OPTIMIZED_MOUNTS: &[Mount] = &[
    host_mount("dev", "/dev", "/dev"),
    Mount {
        path_variables: Some(("NVIDIA_INSTALL_DIR_HOST", "NVIDIA_INSTALL_DIR_CONTAINER")),
        ..host_mount("nvidia", DRIVER_ROOT, DRIVER_IN_CONTAINER)
    },
    Mount {
        path_variables: Some(("VULKAN_ICD_DIR_HOST", "VULKAN_ICD_DIR_CONTAINER")),
        ..host_mount(
            "vulkan",
            "/home/kubernetes/bin/nvidia/vulkan/icd.d",
            "/etc/vulkan/icd.d",
        )
    },
    Mount {
        path_variables: Some(("COS_TOOLS_DIR_HOST", "COS_TOOLS_DIR_CONTAINER")),
        ..host_mount("cos-tools", "/var/lib/cos-tools", "/build/cos-tools")
    },
    ROOT_MOUNT,
];

const UBUNTU_MOUNTS: &[Mount] = &[
    host_mount("boot", "/boot", "/boot"),
    host_mount("dev", "/dev", "/dev"),
    ROOT_MOUNT,
];

const ROOT_MOUNT: Mount = host_mount("root", "/", "/root");

impl Mount {
    fn volume(&self) -> Volume {
        Volume {
            name: self.name.to_owned(),
            host_path: Some(HostPathVolumeSource {
                path: self.host_path.to_owned(),
                type_: None,
            }),
            ..Volume::default()
        }
    }

    fn volume_mount(&self) -> VolumeMount {
        VolumeMount {
            name: self.name.to_owned(),
            mount_path: self.container_path.to_owned(),
            ..VolumeMount::default()
        }
    }

    fn env_vars(&self) -> Vec<EnvVar> {
        let Some((host, container)) = self.path_variables else {
            return Vec::new();
        };
        vec![
            env_var(host, self.host_path),
            env_var(container, self.container_path),
        ]
    }
}

fn env_var(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        ..EnvVar::default()
    }
}

/// The installer image is part of the node image, so it is never pulled; no registry contains it.
fn install_container(pool: &Pool, is_ubuntu: bool, mounts: &[Mount]) -> Container {
    let version = pool
        .driver_version
        .as_ref()
        .map(|version| version.as_str())
        .filter(|version| *version != "default");
    let mut environment: Vec<_> = mounts.iter().flat_map(Mount::env_vars).collect();
    if !is_ubuntu {
        environment.push(env_var("ROOT_MOUNT_DIR", ROOT_MOUNT.container_path));
    }
    if let Some(version) = version.filter(|_| is_ubuntu) {
        environment.push(env_var("NVIDIA_DRIVER_VERSION", version));
    }
    let command = (!is_ubuntu).then(|| install_command(version));
    let (image, pull) = match &pool.driver_image {
        Some(image) => (image.as_str(), "IfNotPresent"),
        None if is_ubuntu => ("gke-nvidia-installer:fixed", "Never"),
        None => ("cos-nvidia-installer:fixed", "Never"),
    };
    Container {
        command,
        env: Some(environment).filter(|environment| !environment.is_empty()),
        image: Some(image.to_owned()),
        image_pull_policy: Some(pull.to_owned()),
        name: "install".to_owned(),
        resources: Some(resource_requests(REQUESTS)),
        security_context: Some(SecurityContext {
            privileged: Some(true),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(mounts.iter().map(Mount::volume_mount).collect()),
        ..Container::default()
    }
}

/// The command that installs the driver on Container-Optimized OS, unless it is loaded. The installer cannot replace a
/// loaded driver: the pod runs again when the DaemonSet changes or the pod is evicted, while other pods use the GPUs.
///
/// Sources: GoogleCloudPlatform/container-engine-accelerators#390 (Google's manifest skips a loaded driver);
/// NVIDIA/aicr#2360, 2026-08-24 (it must not pass another version off as the requested one; the permissions).
fn install_command(version: Option<&str>) -> Vec<String> {
    let (wanted, flag) = match version {
        Some("latest") => ("", " --version=latest".to_owned()),
        Some(version) => (version, format!(" --version={}", quote(version))),
        None => ("", String::new()),
    };
    let script = format!(
        r#"set -eu
wanted={wanted}
if [ -e /sys/module/nvidia ] && [ -e {DRIVER_IN_CONTAINER}/bin/nvidia-smi ]; then
  loaded=$(cat /sys/module/nvidia/version)
  if [ -n "$wanted" ] && [ "$loaded" != "$wanted" ]; then
    echo "driver $loaded is loaded, and cannot be replaced by $wanted: recreate this node" >&2
    exit 1
  fi
  echo "driver $loaded is loaded already"
  exit 0
fi
/cos-gpu-installer install{flag}
chmod 755 {DRIVER_IN_CONTAINER}
"#,
        wanted = quote(wanted),
    );
    vec!["bash".to_owned(), "-c".to_owned(), script]
}

fn pause_container() -> Container {
    Container {
        image: Some(PAUSE_IMAGE.to_owned()),
        name: "pause".to_owned(),
        resources: Some(resource_requests((1, 8))),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

/// Requests in millicores and MiB.
fn resource_requests((cpu, mib): (u64, u64)) -> ResourceRequirements {
    let quantities = [("cpu", format!("{cpu}m")), ("memory", format!("{mib}Mi"))]
        .map(|(name, amount)| (name.to_owned(), Quantity(amount)));
    ResourceRequirements {
        requests: Some(BTreeMap::from(quantities)),
        ..ResourceRequirements::default()
    }
}

fn affinity(pool: &Pool) -> Affinity {
    let expressions = pool.selector.iter().map(|label| NodeSelectorRequirement {
        key: label.key.clone(),
        operator: "In".to_owned(),
        values: Some(vec![label.value.clone()]),
    });
    let terms = vec![NodeSelectorTerm {
        match_expressions: Some(expressions.collect()),
        match_fields: None,
    }];
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: terms,
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use serde_json::{Value, json};

    use super::super::testing::{cluster, resolved};
    use super::*;
    use gpuc_model::check::check;

    fn installer_objects(pools: &[Value]) -> Vec<Value> {
        let (cluster, mut report) = resolved(cluster(pools));
        let checked = check(&cluster, &mut report).expect("the cluster has no errors");
        let objects = cluster.cloud.objects(&checked);
        let json = |object: &Object| serde_json::to_value(&object.node).expect("JSON");
        objects.iter().map(json).collect()
    }

    #[test]
    fn each_pool_runs_the_installer_of_its_image() {
        let objects = installer_objects(&[
            json!({"name": "a", "machine": "g2-standard-8", "nodes": {"count": 1}, "dedicatedTo": "x"}),
            json!({
                "name": "b", "machine": "g2-standard-8", "nodes": {"count": 1},
                "os": {"family": "Ubuntu"}, "stack": {"driverVersion": "580.65.06"},
            }),
        ]);
        let names: Vec<_> = objects
            .iter()
            .map(|object| object["metadata"]["name"].as_str())
            .collect();
        assert_eq!(
            names,
            [
                Some("nvidia-driver-installer"),
                Some("nvidia-driver-installer-a"),
                Some("nvidia-driver-installer-b"),
                Some("gpuc-critical-pods"),
            ]
        );
        let cos = &objects[1]["spec"]["template"]["spec"];
        assert_eq!(
            cos["initContainers"][0]["image"],
            "cos-nvidia-installer:fixed"
        );
        assert_eq!(cos["initContainers"][0]["imagePullPolicy"], "Never");
        let command = script_of(&cos["initContainers"][0]);
        assert!(
            command.contains("\n/cos-gpu-installer install\n"),
            "{command}"
        );
        assert_eq!(
            cos["tolerations"],
            json!([
                {"key": "gpuc.dev/dedicated-to", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
                {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
            ])
        );
        let ubuntu = &objects[2]["spec"]["template"]["spec"];
        assert_eq!(
            ubuntu["initContainers"][0]["image"],
            "gke-nvidia-installer:fixed"
        );
        assert_eq!(
            ubuntu["initContainers"][0]["env"],
            json!([{"name": "NVIDIA_DRIVER_VERSION", "value": "580.65.06"}])
        );
        assert_eq!(ubuntu.get("hostNetwork"), None);
    }

    #[test]
    fn version_and_image_can_be_set() {
        let objects = installer_objects(&[json!({
            "name": "a", "machine": "g2-standard-8", "nodes": {"count": 1},
            "stack": {"driverVersion": "latest", "driverImage": "registry.example.com/installer:1"},
        })]);
        let installer = &objects[1]["spec"]["template"]["spec"]["initContainers"][0];
        let command = script_of(installer);
        assert!(
            command.contains("\n/cos-gpu-installer install --version=latest\n"),
            "{command}"
        );
        assert_eq!(installer["image"], "registry.example.com/installer:1");
        assert_eq!(installer["imagePullPolicy"], "IfNotPresent");
    }

    /// The shell script in the command of a container.
    fn script_of(container: &Value) -> String {
        let command = serde_json::from_value(container["command"].clone()).expect("words");
        script_in(command)
    }

    fn script_in(command: Vec<String>) -> String {
        let [shell, flag, script] = <[String; 3]>::try_from(command).expect("three words");
        assert_eq!((shell.as_str(), flag.as_str()), ("bash", "-c"));
        script
    }

    /// Runs the script on a fake node with these files. Returns whether it succeeds, the arguments of the installer if
    /// it ran, and the output.
    fn run_installer(
        version: Option<&str>,
        files: &[(&str, &str)],
    ) -> (bool, Option<String>, String) {
        let node = tempfile::TempDir::new().expect("a folder");
        let path = |name: &str| node.path().join(name);
        fs::create_dir_all(path("driver/bin")).expect("a folder");
        fs::create_dir_all(path("modules")).expect("a folder");
        let installer = "echo \"$@\" > ${0%/*}/arguments\n";
        for (name, text) in files.iter().chain([&("installer", installer)]) {
            let path = path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let script = script_in(install_command(version))
            .replace("/cos-gpu-installer", "sh /installer")
            .replace("/sys/module/", &format!("{}/", path("modules").display()))
            .replace(DRIVER_IN_CONTAINER, &path("driver").display().to_string())
            .replace("/installer", &path("installer").display().to_string());
        let output = Command::new("bash").args(["-c", &script]).output();
        let output = output.expect("bash");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            fs::read_to_string(path("arguments")).ok(),
            String::from_utf8(text).expect("text"),
        )
    }

    #[test]
    fn loaded_driver_is_not_installed_again() {
        let version = Some("580.95.05");
        let module = ("modules/nvidia/version", "580.95.05\n");
        let loaded = [module, ("driver/bin/nvidia-smi", "")];
        let installed = |arguments: &str| (true, Some(format!("{arguments}\n")), String::new());
        assert_eq!(run_installer(None, &[]), installed("install"));
        let with_version = installed("install --version=580.95.05");
        assert_eq!(run_installer(version, &[]), with_version);
        // The installation was interrupted.
        assert_eq!(run_installer(version, &[module]), with_version);
        for wanted in [None, Some("latest"), version] {
            let (succeeds, arguments, output) = run_installer(wanted, &loaded);
            assert!(succeeds && arguments.is_none(), "{wanted:?}: {output}");
            assert_eq!(output, "driver 580.95.05 is loaded already\n");
        }
        let (succeeds, arguments, output) = run_installer(Some("580.105.08"), &loaded);
        assert!(!succeeds && arguments.is_none(), "{output}");
        assert!(output.contains("cannot be replaced by 580.105.08: recreate this node"));
    }

    #[test]
    fn no_installer_if_gke_installs_the_driver() {
        let stack = json!({"devicePlugin": "cloud"});
        let pool =
            json!({"name": "a", "machine": "g2-standard-8", "nodes": {"count": 1}, "stack": stack});
        assert!(installer_objects(&[pool]).is_empty());
    }
}
