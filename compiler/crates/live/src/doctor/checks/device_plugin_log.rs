//! The log of a device plugin names a fault.

use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use super::stack::{Signature, find_line, is_active, logs_command, pod_ref};
use super::xid::{find_xid, xid_help};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, GPU, NodeFacts};
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7210",
        name: "device-plugin-log",
        severity: Severity::Error,
        summary: "the log of a device plugin names a fault",
        checks: "Whether the logs of device plugins contain lines that name the cause of a fault which the node or the \
pod shows: GPUs that are absent or unhealthy, or a pod that is not ready.",
        reason: "Device plugins write no events. A plugin that finds no driver or no valid configuration can be ready \
and offer nothing.",
        remedy: "The help of the finding depends on the line. In general: the driver first, then the container \
runtime, then the configuration of the device plugin, and then restart its pod.",
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
    metadata: {name: plugin-x, namespace: gpu}
    spec:
      nodeName: gpu-1
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/gpu/plugin-x/plugin.log
Starting OS watcher.
No devices found. Waiting indefinitely.
"#,
        correction: Correction::Replace(
            r#"capacity: {cpu: "192"}
      allocatable: {cpu: "192"}"#,
            r#"capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}"#,
        ),
    },
    layer: Layer::Toolkit,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Stack,
    run,
};

/// What a node or a pod shows if a line of the log is about its present state, and not about the past.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// The node offers no GPUs, or the pod is not ready.
    NothingOffered,
    /// The node has unhealthy GPUs.
    Unhealthy,
    /// The node offers whole GPUs in addition to MIG devices, or although its pool has MIG devices.
    WholeGpus,
}

/// Lines in the logs of device plugins, the most specific first.
///
/// Source: NVIDIA/k8s-device-plugin `cmd/nvidia-device-plugin/main.go`, `internal/rm/health.go`,
/// `internal/rm/device_map.go`, `internal/plugin/mps.go`, `internal/resource/factory.go`,
/// `cmd/config-manager/main.go`, 2026-11-28.
const LINES: &[(Sign, Signature)] = &[
    (
        Sign::NothingOffered,
        Signature {
            parts: &["one MIG device type present on node"],
            message: "the GPUs of the node have MIG devices of several sizes, but the MIG strategy is `single`",
            help: "set the MIG strategy to `mixed`, or partition all GPUs of the node in the same way",
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["at least one device with migEnabled=true was not configured correctly"],
            message: "a GPU of the node is in MIG mode and has no MIG devices",
            help: "create MIG devices on every GPU in MIG mode, or switch MIG mode off",
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["using MPS requires --mps-root to be specified"],
            message: "the device plugin shares GPUs with MPS, but has no MPS root",
            help: "install the device plugin with its Helm chart, which sets the MPS root and runs the control daemon",
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["error waiting for MPS daemon"],
            message: "the device plugin waits for the control daemon of MPS",
            help: "run the DaemonSet of the MPS control daemon on the node: its pods need the label \
`nvidia.com/mps.capable: \"true\"` on the node, and the tolerations of its taints",
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["specified config ", " does not exist"],
            message: "the device plugin does not find the configuration that the label of the node names",
            help: "correct the label `nvidia.com/device-plugin.config` of the node, or add the configuration to the \
ConfigMap of the device plugin",
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["no config was set, no default was provided, and all fallbacks failed"],
            message: "the device plugin has several configurations, and none is selected",
            help: "set the label `nvidia.com/device-plugin.config` on the node, or a default configuration",
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["did you configure the NVIDIA Container Toolkit"],
            message: NO_LIBRARIES,
            help: NO_LIBRARIES_HELP,
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["Incompatible strategy detected auto"],
            message: NO_LIBRARIES,
            help: NO_LIBRARIES_HELP,
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["Failed to initialize NVML"],
            message: NO_LIBRARIES,
            help: NO_LIBRARIES_HELP,
        },
    ),
    (
        Sign::NothingOffered,
        Signature {
            parts: &["No devices found. Waiting indefinitely"],
            message: "the device plugin finds no GPU and no driver",
            help: "check with `nvidia-smi` that the driver works on the node, and set `runtimeClassName: nvidia` in \
the DaemonSet if the container runtime does not inject the driver by default",
        },
    ),
    (
        Sign::Unhealthy,
        Signature {
            parts: &["XidCriticalError: Xid=", "marking device as unhealthy"],
            message: "the device plugin marks a GPU as unhealthy after an Xid",
            help: "reset the GPU or reboot the node as the Xid requires, then restart the pod of the device plugin: it \
never marks a GPU as healthy again",
        },
    ),
    (
        Sign::Unhealthy,
        Signature {
            parts: &["device marked unhealthy"],
            message: "the device plugin marks a GPU as unhealthy",
            help: "check the GPU with `nvidia-smi`, then restart the pod of the device plugin: it never marks a GPU as \
healthy again",
        },
    ),
    (
        Sign::WholeGpus,
        Signature {
            parts: &["device ", " has no MIG devices configured"],
            message: "the device plugin started before the GPUs had MIG devices, and offers whole GPUs",
            help: "restart the pod of the device plugin after the MIG devices are created",
        },
    ),
];

const NO_LIBRARIES: &str = "the container of the device plugin has no access to the driver";
const NO_LIBRARIES_HELP: &str = "set `runtimeClassName: nvidia` in the DaemonSet, or make NVIDIA's runtime or CDI the \
default of the container runtime";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        for (pod, advertiser) in &node.advertisers {
            let age = ctx.age(pod.metadata.creation_timestamp);
            if !is_active(pod) || age.is_some_and(|age| age < START_SECONDS) {
                continue;
            }
            let found = match advertiser {
                Advertiser::Nvidia | Advertiser::Gke => find_fault(ctx, node, pod),
                Advertiser::Runtime => find_invalid_configuration(node),
                Advertiser::Dra => None,
            };
            let found = found.map(|(signature, evidence)| {
                let finding = Finding::new(&CHECK.code, pod_ref(pod), signature.message);
                let help = xid_of(&evidence).map_or_else(
                    || signature.help.to_owned(),
                    |xid| format!("{}; then restart the pod of the device plugin: it never marks a GPU as healthy again", xid_help(xid)),
                );
                finding
                    .evidence(evidence)
                    .help(help)
                    .command(logs_command(pod))
            });
            let finding = found.or_else(|| check_mount(ctx, pod));
            findings.extend(finding.map(|it| {
                it.input(node.pool.map(|pool| pool.plugin.span))
                    .depends_on([node.object()])
            }));
        }
    }
}

/// The Xid in a line of the log.
fn xid_of(evidence: &Evidence) -> Option<u32> {
    match evidence {
        Evidence::Log { line, .. } => find_xid(line, &["XidCriticalError: Xid"]),
        Evidence::Field { .. } | Evidence::Event { .. } => None,
    }
}

/// The kubelet's message for a ConfigMap that does not exist.
///
/// Source: kubernetes `pkg/volume/configmap/configmap.go`; NVIDIA/gpu-operator issue 412, 2026-11-28.
static MISSING_MAP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"configmap "([^"]+)" not found"#).ok());

/// A pod that waits for a ConfigMap that does not exist.
fn check_mount(ctx: &Context<'_>, pod: &Pod) -> Option<Finding> {
    if pod.status.phase != "Pending" {
        return None;
    }
    let event = ctx.event(&pod_ref(pod), "FailedMount")?;
    let name = MISSING_MAP
        .as_ref()?
        .captures(&event.message)?
        .get(1)?
        .as_str();
    let namespace = &pod.metadata.namespace;
    // It may have been created since.
    if ctx.state.object(Kind::ConfigMap, namespace, name).is_some() {
        return None;
    }
    let message = format!("the ConfigMap `{name}` of the device plugin does not exist");
    Some(
        Finding::new(&CHECK.code, pod_ref(pod), message)
            .evidence(Evidence::event(event))
            .help(format!(
                "create the ConfigMap `{name}` in the namespace `{namespace}`, or correct its name in the values of \
the device plugin"
            ))
            .command(format!("kubectl get configmaps --namespace {namespace}")),
    )
}

/// The seconds in which a device plugin waits for other components.
const START_SECONDS: u64 = 120;

/// gpuc-runtime reports this with the condition of the node.
///
/// Source: gpuc `runtime/src/publish/health_report.rs`, 2026-11-28.
static INVALID_CONFIGURATION: Signature = Signature {
    parts: &["InvalidConfiguration"],
    message: "gpuc-runtime does not accept its configuration, and advertises no GPU",
    help: "correct the ConfigMap of gpuc-runtime: run `gpuc build` and apply the tree",
};

/// The condition with which gpuc-runtime reports that its configuration is invalid, from the start.
fn find_invalid_configuration(node: &NodeFacts<'_>) -> Option<(&'static Signature, Evidence)> {
    let condition = node.node.condition("GPUsHealthy")?;
    let is_invalid = condition.is_false() && INVALID_CONFIGURATION.matches(&condition.reason);
    is_invalid.then(|| {
        let evidence = Evidence::Field {
            object: node.object(),
            path: "status.conditions[GPUsHealthy].message".to_owned(),
            value: condition.message.clone(),
        };
        (&INVALID_CONFIGURATION, evidence)
    })
}

/// The first line of the table in the log of a pod whose sign its node shows.
fn find_fault(
    ctx: &Context<'_>,
    node: &NodeFacts<'_>,
    pod: &Pod,
) -> Option<(&'static Signature, Evidence)> {
    let shown = [Sign::NothingOffered, Sign::Unhealthy, Sign::WholeGpus]
        .map(|sign| (sign, shows(node, pod, sign)));
    let mut lines = LINES
        .iter()
        .filter(|(sign, _)| shown.contains(&(*sign, true)));
    lines.find_map(|(_, signature)| {
        let evidence = find_line(ctx, pod, |line| signature.matches(line))?;
        Some((signature, evidence))
    })
}

/// Whether a node and the pod of its device plugin show a sign.
fn shows(node: &NodeFacts<'_>, pod: &Pod, sign: Sign) -> bool {
    let mut offered = node.offered();
    match sign {
        Sign::NothingOffered => !pod.is_ready() || offered.all(|(_, capacity, _)| capacity == 0),
        Sign::Unhealthy => offered.any(|(_, capacity, allocatable)| allocatable < capacity),
        Sign::WholeGpus => {
            let state = node.node.metadata.label("nvidia.com/mig.config.state");
            let has_whole = node.expected.as_ref().is_some_and(|expected| {
                let mut names = expected.resources.keys();
                let wanted = expected.resources.get(GPU).copied().unwrap_or_default();
                names.any(|name| name.starts_with("nvidia.com/mig-"))
                    && node.capacity(GPU) > u64::from(wanted)
            });
            has_whole && matches!(state, None | Some("success"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::{CHECK, LINES, Sign};

    fn check(resources: &str, line: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects.replace("No devices found. Waiting indefinitely.", line);
        codes(&objects.replace(r#"{cpu: "192"}"#, resources))
    }

    #[test]
    fn every_line_is_found_on_nodes_without_gpus() {
        for (_, signature) in LINES
            .iter()
            .filter(|(sign, _)| *sign == Sign::NothingOffered)
        {
            let (codes, text) = check("{}", &signature.parts.join("x"));
            assert_eq!(codes, [CHECK.code.id], "{text}");
            assert!(text.contains(signature.message), "{text}");
            assert!(
                text.contains("explains: the node has no `nvidia.com/gpu`"),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_of_the_past_do_not_count() {
        for (_, signature) in LINES {
            let (codes, text) = check(r#"{nvidia.com/gpu: "8"}"#, &signature.parts.join("x"));
            assert!(codes.is_empty(), "{text}");
        }
    }

    #[test]
    fn an_invalid_configuration_of_gpuc_runtime_explains_absent_gpus() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects
            .replace("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", "gpuc-runtime:0.1.0")
            .replace(
                r#"[{type: Ready, status: "True"}]
  - api"#,
                r#"
        - {type: Ready, status: "True"}
        - {type: GPUsHealthy, status: "False", reason: InvalidConfiguration, message: "no GPU is advertised"}
  - api"#,
            );
        let (codes, text) = codes(&objects);
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(text.contains("does not accept its configuration"), "{text}");
    }

    #[test]
    fn a_config_map_that_does_not_exist_explains_the_pod() {
        let event = r#"  - apiVersion: v1
    kind: Event
    metadata: {name: e, namespace: gpu}
    involvedObject: {kind: Pod, namespace: gpu, name: plugin-x}
    reason: FailedMount
    message: 'MountVolume.SetUp failed for volume "config" : configmap "plugin-configs" not found'
"#;
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (objects, _) = objects.split_once("--- #").unwrap();
        let ready = r#"{phase: Running, conditions: [{type: Ready, status: "True"}]}"#;
        let objects = objects.replace(ready, "{phase: Pending}");
        let (codes, text) = codes(&format!("{objects}{event}"));
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(text.contains("`plugin-configs`"), "{text}");
    }

    #[test]
    fn the_xid_explains_unhealthy_gpus() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects
            .replace(
                r#"capacity: {cpu: "192"}"#,
                r#"capacity: {nvidia.com/gpu: "8"}"#,
            )
            .replace(
                r#"allocatable: {cpu: "192"}"#,
                r#"allocatable: {nvidia.com/gpu: "7"}"#,
            )
            .replace(
                "No devices found. Waiting indefinitely.",
                "XidCriticalError: Xid=79 on Device=GPU-1; marking device as unhealthy.",
            );
        let (codes, text) = codes(&objects);
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(text.contains("explains: 1 of 8"), "{text}");
        assert!(text.contains("drain and reboot the node"), "{text}");
    }
}
