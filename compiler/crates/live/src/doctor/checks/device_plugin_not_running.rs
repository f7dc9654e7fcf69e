//! A pod of the device plugin is not ready.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{describe_command, failure_command, failure_of, pod_ref};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7303",
        name: "device-plugin-not-running",
        severity: Severity::Error,
        summary: "a pod of the device plugin is not ready",
        checks: "Whether the pods of device plugins and of NVIDIA's DRA driver are ready: their containers are \
created, their images exist, and they do not restart again and again.",
        reason: "A device plugin that does not run registers no GPUs, and does not notice that a GPU fails.",
        remedy: "The state of the container names the reason. `ImagePullBackOff`: correct the image or the access to \
its registry. `CrashLoopBackOff`: read the log of the previous container. `OOMKilled`: raise the memory limit. \
`CreateContainerError` and `StartError`: the container runtime cannot inject the driver.",
        bad: r#"--- # objects.yaml
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
    metadata: {name: plugin-x, namespace: gpu}
    spec:
      nodeName: gpu-1
      containers: [{name: plugin, image: "registry.example.com/gpuc-runtime:0.1.0"}]
    status:
      phase: Running
      conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: plugin
          restartCount: 12
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
          lastState: {terminated: {reason: OOMKilled, exitCode: 137}}
"#,
        correction: Correction::Replace(
            r#"conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: plugin
          restartCount: 12
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
          lastState: {terminated: {reason: OOMKilled, exitCode: 137}}
"#,
            r#"conditions: [{type: Ready, status: "True"}]
"#,
        ),
    },
    layer: Layer::Advertiser,
    is_symptom: false,
    needs: &[Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in &ctx.nodes {
        for (pod, advertiser) in &node.advertisers {
            let is_going = pod.metadata.deletion_timestamp.is_some();
            if pod.is_ready() || is_going || !node.node.is_ready() {
                continue;
            }
            // Another check reports plugins on nodes without GPUs.
            if ctx.is_without_gpus(node) {
                continue;
            }
            findings.extend(check_pod(ctx, pod, *advertiser));
        }
    }
}

/// The seconds after which a pod without an error must be ready.
const START_SECONDS: u64 = 300;

/// The same, if its init containers wait for the driver.
const INSTALL_SECONDS: u64 = 1800;

fn check_pod(ctx: &Context<'_>, pod: &Pod, advertiser: Advertiser) -> Option<Finding> {
    let object = pod_ref(pod);
    // The driver on the node, or a fault that the log of the pod names.
    let causes = [object.clone(), ObjectRef::node(&pod.spec.node_name)];
    let Some(failure) = failure_of(pod) else {
        let mut initial = pod.status.init_container_statuses.iter();
        let limit = if initial.any(|it| !it.ready && it.state.terminated.is_none()) {
            INSTALL_SECONDS
        } else {
            START_SECONDS
        };
        let is_old = ctx
            .age(pod.metadata.creation_timestamp)
            .is_some_and(|seconds| seconds > limit);
        return is_old.then(|| not_ready(ctx, pod, advertiser).depends_on(causes));
    };
    let reason = failure.reason.as_str();
    let help = match reason {
        "OOMKilled" => "raise the memory limit of the container",
        "ErrImagePull" | "ImagePullBackOff" | "ErrImageNeverPull" | "InvalidImageName" => {
            "correct the image, or give the nodes access to its registry"
        }
        "CreateContainerConfigError" => "create the ConfigMap or Secret that the message names",
        "CreateContainerError" | "StartError" | "RunContainerError" => {
            "correct the container runtime's configuration of NVIDIA's toolkit or CDI on the node"
        }
        _ => "read the log of the container before its last restart",
    };
    let text = format!(
        "the pod of {} does not run: `{reason}`",
        advertiser.as_str()
    );
    let finding = Finding::new(&CHECK.code, object.clone(), text)
        .depends_on(causes)
        .help(help)
        .command(failure_command(pod, &failure));
    Some(finding.field(object, &failure.field, failure.value))
}

/// The folder of the driver on nodes of GKE.
///
/// Source: GoogleCloudPlatform/container-engine-accelerators `nvidia-driver-installer/cos/daemonset-preloaded.yaml`,
/// 2026-11-28 (from memory).
const GKE_DRIVER: &str = "/home/kubernetes/bin/nvidia";

/// A pod that has not started for a long time, although none of its containers fails.
fn not_ready(ctx: &Context<'_>, pod: &Pod, advertiser: Advertiser) -> Finding {
    let object = pod_ref(pod);
    let title = advertiser.as_str();
    let finding = |message: String| Finding::new(&CHECK.code, object.clone(), message);
    if let Some(event) = ctx.recent_event(&object, "FailedMount") {
        let help = if event.message.contains(GKE_DRIVER) {
            "install the driver on the node: set the driver version of the node pool, or run Google's driver installer"
        } else {
            "create what the message names"
        };
        return finding(format!(
            "the pod of {title} does not start: a volume cannot be mounted"
        ))
        .evidence(Evidence::event(event))
        .help(help)
        .command(describe_command(pod));
    }
    let mut initial = pod.status.init_container_statuses.iter();
    let running = initial.find(|it| !it.ready && it.state.terminated.is_none());
    if let Some(status) = running.filter(|it| it.state.waiting.is_none()) {
        let name = &status.name;
        let (namespace, own) = (&pod.metadata.namespace, &pod.metadata.name);
        return finding(format!(
            "the pod of {title} does not start: its init container `{name}` has not ended"
        ))
        .field(
            object.clone(),
            &format!("status.initContainerStatuses[{name}].ready"),
            "false",
        )
        .help("read its log: it installs the driver, or waits for it")
        .command(format!(
            "kubectl logs --namespace {namespace} {own} --container {name}"
        ));
    }
    finding(format!("the pod of {title} is not ready"))
        .field(object.clone(), "status.phase", &pod.status.phase)
        .help("read the conditions and the log of the pod")
        .command(describe_command(pod))
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{codes, event, list_objects};

    const NODE: &str = r#"{"kind": "Node", "apiVersion": "v1",
      "metadata": {"name": "gpu-1", "labels": {"cloud.google.com/gke-accelerator": "nvidia-l4"}},
      "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}}"#;

    fn plugin(status: &str) -> String {
        format!(
            r#"{{"kind": "Pod", "apiVersion": "v1",
              "metadata": {{"name": "plugin", "namespace": "kube-system", "creationTimestamp": "2026-11-28T11:00:00Z"}},
              "spec": {{"nodeName": "gpu-1", "containers": [
                {{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}}]}},
              "status": {{"phase": "Pending"{status}}}}}"#
        )
    }

    #[test]
    fn what_a_pod_waits_for_is_named() {
        let waiting = r#", "initContainerStatuses": [{"name": "driver-installer", "ready": false,
          "state": {"running": {}}}]"#;
        let mount = |message: &str| {
            let text = event("Pod", "plugin", "FailedMount", message, "11:50:00");
            text.replace("\"namespace\": \"ml\"", "\"namespace\": \"kube-system\"")
        };
        let driver = mount(
            "MountVolume.SetUp failed: hostPath type check failed: /home/kubernetes/bin/nvidia is not a directory",
        );
        for (objects, expected) in [
            (
                vec![plugin(waiting)],
                "init container `driver-installer` has not ended",
            ),
            (vec![plugin(""), driver], "install the driver on the node"),
            (
                vec![plugin(""), mount("secret x not found")],
                "create what the message names",
            ),
            (vec![plugin("")], "is not ready\n"),
        ] {
            let objects = [vec![NODE.to_owned()], objects].concat();
            let (found, text) = codes(&list_objects(&objects));
            assert_eq!(found, ["GPUC7303"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }
}
