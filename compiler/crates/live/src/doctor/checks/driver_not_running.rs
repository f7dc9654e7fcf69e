//! The driver is not installed on a node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{
    Signature, describe_command, failure_command, failure_of, find_signature, has_name, is_active,
    logs_command, pod_ref,
};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7201",
        name: "driver-not-running",
        severity: Severity::Error,
        summary: "the pod that installs the driver fails on a node",
        checks: "Whether the pods that install NVIDIA's driver are ready: those of the GPU Operator and of GKE. Their \
logs name the cause if they are part of the snapshot.",
        reason: "Without a driver, no device plugin finds a GPU. The kernel module must match the kernel of the node, \
so that an update of the node's image can break an installation that worked.",
        remedy: "The log of the pod names the cause. An image that is not found: set a driver version that NVIDIA \
publishes for the operating system, or use the driver of the node's image. A missing kernel package: use precompiled \
drivers, or pin the kernel. Secure Boot: use signed precompiled drivers, or switch Secure Boot off.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {cpu: "192"}
      allocatable: {cpu: "192"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-driver-daemonset-x, namespace: gpu-operator}
    spec:
      nodeName: gpu-1
      containers: [{name: nvidia-driver-ctr, image: "nvcr.io/nvidia/driver:580.1-ubuntu26.04"}]
    status:
      phase: Pending
      conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: nvidia-driver-ctr
          state: {waiting: {reason: ImagePullBackOff, message: "nvcr.io/nvidia/driver:580.1-ubuntu26.04: not found"}}
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-device-plugin-daemonset-x, namespace: gpu-operator}
    spec:
      nodeName: gpu-1
      initContainers: [{name: toolkit-validation, image: "nvcr.io/nvidia/gpu-operator:v26.7.0"}]
      containers: [{name: nvidia-device-plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Pending, conditions: [{type: Ready, status: "False"}]}
"#,
        correction: Correction::Whole(
            r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-driver-daemonset-x, namespace: gpu-operator}
    spec:
      nodeName: gpu-1
      containers: [{name: nvidia-driver-ctr, image: "nvcr.io/nvidia/driver:580.1-ubuntu24.04"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-device-plugin-daemonset-x, namespace: gpu-operator}
    spec:
      nodeName: gpu-1
      initContainers: [{name: toolkit-validation, image: "nvcr.io/nvidia/gpu-operator:v26.7.0"}]
      containers: [{name: nvidia-device-plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#,
        ),
    },
    layer: Layer::Driver,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Stack,
    run,
};

/// The beginnings of the names of DaemonSets that install the driver.
///
/// Source: NVIDIA/gpu-operator `assets/state-driver/0500_daemonset.yaml` and
/// `manifests/state-driver/0500_daemonset.yaml`; GoogleCloudPlatform/container-engine-accelerators
/// `nvidia-driver-installer/cos/daemonset-preloaded.yaml`, 2026-11-28.
const DRIVER_PODS: &[&str] = &[
    "nvidia-driver-daemonset",
    "nvidia-gpu-driver-",
    "nvidia-driver-installer",
];

/// Lines in the logs of pods that install the driver.
///
/// Source: NVIDIA/gpu-operator issues 85, 155, 266, 751, 1142, 1726; container-engine-accelerators issues 402 and 407,
/// 2026-11-28.
const SIGNATURES: &[Signature] = &[
    Signature {
        parts: &["Could not resolve Linux kernel version"],
        message: "the driver is not installed: the package repository has no headers for the node's kernel",
        help: "use precompiled drivers or the driver of the node's image, or pin the kernel of the node's image",
    },
    Signature {
        parts: &["Loading of unsigned module is rejected"],
        message: SECURE_BOOT,
        help: SECURE_BOOT_HELP,
    },
    Signature {
        parts: &["Key was rejected by service"],
        message: SECURE_BOOT,
        help: SECURE_BOOT_HELP,
    },
    Signature {
        parts: &["not signed by a key that is trusted"],
        message: SECURE_BOOT,
        help: SECURE_BOOT_HELP,
    },
    Signature {
        parts: &["GPL-incompatible module nvidia.ko uses GPL-only symbol"],
        message: "the driver is not installed: its version is too old for the node's kernel",
        help: "set a newer driver version, at least 535.183.08",
    },
    UNLOADABLE,
    DISABLED,
];

const SECURE_BOOT: &str = "the driver is not installed: Secure Boot rejects its kernel module";
const SECURE_BOOT_HELP: &str =
    "use signed precompiled drivers, or create the nodes without Secure Boot";

/// The driver cannot be replaced.
const UNLOADABLE: Signature = Signature {
    parts: &["Could not unload NVIDIA driver kernel modules, driver is in use"],
    message: "the driver is not replaced: programs on the node use the GPUs",
    help: "drain the node, so that the driver can be unloaded",
};

/// GKE does not install a driver.
const DISABLED: Signature = Signature {
    parts: &["GPU driver auto installation is disabled"],
    message: "no driver is installed: the node pool is created without one",
    help: "create the node pool with `gpu-driver-version=default`, or apply the DaemonSet that installs the driver",
};

/// The seconds in which a driver is compiled and loaded.
const INSTALL_SECONDS: u64 = 1200;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let pods = ctx.pods_on(node.name()).iter();
        let mut failing = pods.filter(|pod| is_active(pod) && !pod.is_ready());
        let finding = failing.find_map(|pod| check_pod(ctx, node, pod));
        let finding = finding
            .or_else(|| check_condition(ctx, node))
            .or_else(|| check_installer(ctx, node));
        findings.extend(finding.map(|it| {
            let span = node.pool.map(|pool| pool.driver.span);
            it.input(span)
        }));
    }
}

/// A node on which gpuc-runtime finds no driver.
///
/// Source: gpuc `runtime/src/publish/health_report.rs`, 2026-11-28.
fn check_condition(ctx: &Context<'_>, node: &NodeFacts<'_>) -> Option<Finding> {
    let condition = node.node.condition("GPUsHealthy")?;
    let is_missing = condition.is_false() && condition.reason == "DriverMissing";
    if !is_missing || ctx.is_new(node, INSTALL_SECONDS) {
        return None;
    }
    let path = "status.conditions[GPUsHealthy].message";
    let message = "gpuc-runtime finds no driver on the node";
    Some(
        Finding::new(&CHECK.code, node.object(), message)
            .field(node.object(), path, &condition.message)
            .help("use an image of the operating system with the driver, or install it: `stack.driver` says which")
            .command(format!("kubectl describe node {}", node.name())),
    )
}

/// The label with which a node pool of GKE refuses GKE's device plugin, and with it the installation of the driver.
///
/// Source: cloud.google.com/kubernetes-engine/docs/how-to/gpu-operator; NVIDIA/aicr pull request 2047, 2026-11-28.
const OPT_OUT: &str = "gke-no-default-nvidia-gpu-device-plugin";

/// A node of GKE without GKE's device plugin, on which nothing installs the driver.
fn check_installer(ctx: &Context<'_>, node: &NodeFacts<'_>) -> Option<Finding> {
    let value = node.node.metadata.label(OPT_OUT)?;
    let is_known = |kind| ctx.state.completeness(kind).is_complete();
    let has_driver = node
        .node
        .metadata
        .labels
        .keys()
        .any(|key| key.starts_with("nvidia.com/cuda.driver"));
    let offers = node.offered().any(|(_, capacity, _)| capacity > 0);
    let is_certain = is_known(Kind::Pod) && is_known(Kind::DaemonSet);
    if value != "true" || !node.has_gpus() || offers || has_driver || !is_certain {
        return None;
    }
    let mut pods = ctx.pods_on(node.name()).iter();
    let mut daemon_sets = ctx.state.daemon_sets.items.iter();
    let installs = |name: &str| DRIVER_PODS.iter().any(|it| name.starts_with(it));
    let has_installer = pods.any(|pod| has_name(pod, DRIVER_PODS))
        || daemon_sets.any(|it| installs(&it.metadata.name));
    if has_installer || ctx.is_new(node, INSTALL_SECONDS) {
        return None;
    }
    let message = "no driver is installed: without GKE's device plugin, GKE does not install it";
    Some(
        Finding::new(&CHECK.code, node.object(), message)
            .field(
                node.object(),
                &format!("metadata.labels[\"{OPT_OUT}\"]"),
                value,
            )
            .help("apply the DaemonSet `nvidia-driver-installer` of GKE, or let the GPU Operator install the driver")
            .command("kubectl get daemonsets --all-namespaces"),
    )
}

fn check_pod(ctx: &Context<'_>, node: &NodeFacts<'_>, pod: &Pod) -> Option<Finding> {
    let finding = |message: &str| Finding::new(&CHECK.code, node.object(), message);
    if !has_name(pod, DRIVER_PODS) {
        // On GKE, an init container of the device plugin installs the driver.
        let mut advertisers = node.advertisers.iter();
        advertisers.find(|(it, advertiser)| {
            *advertiser == Advertiser::Gke && it.metadata.name == pod.metadata.name
        })?;
        let (signature, evidence) = find_signature(ctx, pod, &[DISABLED])?;
        return Some(
            finding(signature.message)
                .evidence(evidence)
                .help(signature.help)
                .command(logs_command(pod)),
        );
    }
    if let Some((signature, evidence)) = find_signature(ctx, pod, SIGNATURES) {
        return Some(
            finding(signature.message)
                .evidence(evidence)
                .help(signature.help)
                .command(logs_command(pod)),
        );
    }
    if let Some(failure) = failure_of(pod) {
        let help = match failure.reason.as_str() {
            "ErrImagePull" | "ImagePullBackOff" => {
                "set a driver version that NVIDIA publishes for the operating system of the nodes, or use the driver \
of the node's image"
            }
            _ => "read the log of the pod that installs the driver",
        };
        let message = format!(
            "the driver is not installed: container `{}` fails with `{}`",
            failure.container, failure.reason
        );
        let command = failure_command(pod, &failure);
        return Some(
            finding(&message)
                .field(pod_ref(pod), &failure.field, failure.value)
                .help(help)
                .command(command),
        );
    }
    let age = ctx.age(pod.metadata.creation_timestamp)?;
    (age > INSTALL_SECONDS).then(|| {
        finding("the driver is not installed: its pod is not ready after 20 minutes")
            .field(pod_ref(pod), "status.phase", &pod.status.phase)
            .help("read the conditions and the log of the pod that installs the driver")
            .command(describe_command(pod))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::{CHECK, SIGNATURES};

    fn check(from: &str, to: &str, log: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&format!("{}{log}", objects.replace(from, to)))
    }

    #[test]
    fn a_driver_that_is_being_compiled_is_not_reported() {
        let waiting = "waiting: {reason: ImagePullBackOff";
        let (codes, text) = check(waiting, "waiting: {reason: PodInitializing", "");
        assert!(!codes.contains(&CHECK.code.id), "{text}");
    }

    #[test]
    fn logs_name_the_cause() {
        for signature in SIGNATURES {
            let log = format!(
                "--- # logs/gpu-operator/nvidia-driver-daemonset-x/nvidia-driver-ctr.log\nx {} y\n",
                signature.parts.join(" ")
            );
            let (codes, text) = check("", "", &log);
            assert_eq!(codes, [CHECK.code.id]);
            assert!(text.contains(signature.message), "{text}");
        }
    }

    #[test]
    fn gpuc_runtime_reports_a_missing_driver() {
        let objects = r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      conditions:
        - {type: Ready, status: "True"}
        - {type: GPUsHealthy, status: "False", reason: DriverMissing, message: "libnvidia-ml.so.1 is absent"}
  - apiVersion: v1
    kind: Pod
    metadata: {name: runtime-x, namespace: gpuc-system}
    spec: {nodeName: gpu-1, containers: [{name: runtime, image: gpuc-runtime}]}
    status: {phase: Running, conditions: [{type: Ready, status: "False"}]}
"#;
        let (codes, text) = codes(objects);
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(text.contains("explains: the node has no"), "{text}");
    }

    #[test]
    fn gke_reports_pools_without_a_driver() {
        let objects = r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {cloud.google.com/gke-accelerator: nvidia-l4}}
    status: {conditions: [{type: Ready, status: "True"}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-gpu-device-plugin-large-cos-x, namespace: kube-system}
    spec: {nodeName: gpu-1, containers: [{name: plugin, image: "gke.gcr.io/nvidia-gpu-device-plugin:1"}]}
    status: {phase: Pending}
--- # logs/kube-system/nvidia-gpu-device-plugin-large-cos-x/nvidia-driver-installer.log
GPU driver auto installation is disabled.
"#;
        let (codes, text) = codes(objects);
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("gpu-driver-version"), "{text}");
    }

    #[test]
    fn nodes_of_gke_without_its_plugin_need_an_installer() {
        let objects = r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels: {cloud.google.com/gke-accelerator: nvidia-l4, gke-no-default-nvidia-gpu-device-plugin: "true"}
    status: {conditions: [{type: Ready, status: "True"}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-device-plugin-x, namespace: kube-system}
    spec: {nodeName: gpu-1, containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]}
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-device-plugin, namespace: kube-system}
"#;
        let (found, text) = codes(objects);
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("GKE does not install it"), "{text}");
        let installer = r#"  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-driver-installer-x, namespace: kube-system}
    spec: {nodeName: gpu-1}
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#;
        let (found, text) = codes(&format!("{objects}{installer}"));
        assert!(!found.contains(&CHECK.code.id), "{text}");
        let other = objects.replace("plugin: \"true\"", "plugin: \"false\"");
        let (found, text) = codes(&other);
        assert!(!found.contains(&CHECK.code.id), "{text}");
    }

    #[test]
    fn a_ready_driver_with_an_old_error_in_its_log_is_fine() {
        let objects = r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-driver-daemonset-x, namespace: kube-system}
    spec: {nodeName: gpu-1, containers: [{name: nvidia-driver-ctr, image: driver}]}
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/kube-system/nvidia-driver-daemonset-x/nvidia-driver-ctr.previous.log
Could not resolve Linux kernel version
"#;
        let (codes, text) = codes(objects);
        assert!(codes.is_empty(), "{text}");
    }
}
