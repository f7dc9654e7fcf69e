//! A pod of the device plugin is not ready.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{describe_command, failure_command, failure_of, pod_ref};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
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
        return is_old.then(|| {
            let message = format!("the pod of {} is not ready", advertiser.as_str());
            Finding::new(&CHECK.code, object.clone(), message)
                .depends_on(causes)
                .field(object, "status.phase", &pod.status.phase)
                .help("read the conditions and the log of the pod")
                .command(describe_command(pod))
        });
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
