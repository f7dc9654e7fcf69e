//! A node has no allocatable GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, GPU};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7301",
        name: "gpus-not-advertised",
        severity: Severity::Error,
        summary: "a node with GPUs has none in its capacity",
        checks: "Whether each ready node with GPUs has the resources of its GPUs in `status.capacity`. Which resources \
these are follows from the pool in `gpu-cluster.yaml`, or from the machine type.",
        reason: "The kubelet learns about GPUs from a device plugin only. Without it, pods with GPUs stay pending, and \
the machine costs as much as if it worked.",
        remedy: "This is a symptom: another finding names the cause if gpuc finds it. Otherwise, read the log of the \
device plugin on the node: it registered no resource, or the kubelet restarted without it.",
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
"#,
        correction: Correction::Replace(
            r#"capacity: {cpu: "192"}
      allocatable: {cpu: "192"}"#,
            r#"capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}"#,
        ),
    },
    layer: Layer::Advertiser,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which a new node registers its GPUs.
const START_SECONDS: u64 = 600;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let is_known = |kind| ctx.state.completeness(kind).is_complete();
    let knows_plugins = is_known(Kind::Pod) && is_known(Kind::DaemonSet);
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        let Some(expected) = node.expected.as_ref().filter(|it| !it.is_dra) else {
            continue;
        };
        // The driver and the device plugin start on a new node.
        if ctx.is_new(node, START_SECONDS) || node.is_paused() {
            continue;
        }
        // The DRA driver publishes GPUs in other objects.
        let mut advertisers = node.advertisers.iter();
        if advertisers.any(|(_, advertiser)| *advertiser == Advertiser::Dra) {
            continue;
        }
        let offers_any = node.offered().any(|(_, capacity, _)| capacity > 0);
        if offers_any {
            continue;
        }
        let resource = expected.resources.keys().next().map_or(GPU, String::as_str);
        let pods = node.advertisers.iter();
        let pods: Vec<ObjectRef> = pods
            .map(|(pod, _)| ObjectRef::of_kind("Pod", &pod.metadata))
            .collect();
        let finding = Finding::new(
            &CHECK.code,
            node.object(),
            format!("the node has no `{resource}`"),
        )
        .field(
            node.object(),
            &format!("status.capacity[\"{resource}\"]"),
            node.node
                .status
                .capacity
                .get(resource)
                .map_or_else(|| "absent".to_owned(), ToString::to_string),
        )
        .input(expected.span);
        let finding = match node.advertisers.first() {
            Some((pod, advertiser)) => finding
                .help(format!(
                    "read the log of {} on the node: it registered no resource",
                    advertiser.as_str()
                ))
                .command(format!(
                    "kubectl logs --namespace {} {}",
                    pod.metadata.namespace, pod.metadata.name
                )),
            None if !knows_plugins => finding
                .help("find out whether a device plugin runs on the node; the pods or DaemonSets were not read")
                .command("kubectl get daemonsets --all-namespaces"),
            None => finding
                .help("run a device plugin on the node")
                .command("kubectl get daemonsets --all-namespaces"),
        };
        findings.push(finding.depends_on(pods));
    }
}
