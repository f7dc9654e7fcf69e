//! A second device plugin for GPUs that another component already advertises.

use gpuc_model::Pool;
use gpuc_model::scheduling::Feasibility;
use gpuc_schema::config::{Allocation, DevicePlugin};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::scheduling::evaluate_pools;
use crate::{CheckContext, Container, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4092",
        name: "manifest-duplicate-device-plugin",
        severity: Severity::Error,
        summary: "a second device plugin advertises GPUs that another component advertises",
        checks: "Whether a DaemonSet with NVIDIA's device plugin runs on nodes whose GPUs a component of the cluster file
already advertises: gpuc-runtime, NVIDIA's chart, the GPU Operator or the cloud.",
        reason: "Both register the same GPUs with the kubelet. If the resource name is the same, the later plugin replaces
the first, and its replicas or MIG devices disappear. If the names differ, each GPU is allocated twice.",
        remedy: "Remove the manifest. Tutorials for plain clusters contain it because nothing else advertises GPUs there. To
use NVIDIA's device plugin instead of gpuc-runtime, write `devicePlugin: nvidia` in `stack`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin-daemonset, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: plugin
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
          volumeMounts: [{name: plugins, mountPath: /var/lib/kubelet/device-plugins}]
      volumes: [{name: plugins, hostPath: {path: /var/lib/kubelet/device-plugins}}]
"#,
        correction: Correction::Replace("tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]", "nodeSelector: {gpuc.dev/pool: cpu}"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| pod.is_of_daemon_set()) {
        let Some(container) = plugin_container(pod) else {
            continue;
        };
        let Some((_, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
            continue;
        };
        let mut advertising = evaluations.iter().filter(|evaluation| {
            let may_be_same = is_generated_by_chart(pod) && is_advertised_by_chart(evaluation.pool);
            evaluation.pool.has_gpus()
                && evaluation.feasibility() == Feasibility::Fits
                && !may_be_same
        });
        let Some(first) = advertising.next() else {
            continue;
        };
        let pool = first.pool;
        let span = container.image().map_or(container.node.span(), Node::span);
        let message = format!(
            "{} runs a second device plugin on the nodes of pool `{}`",
            pod.title(),
            pool.name
        );
        let builder = report.diagnostic(&RULE.code, span, message);
        let text = format!("{} already advertises its GPUs", advertiser(pool));
        let builder = builder.label(pool.name.span, text);
        let help = match (pool.allocation.value, pool.plugin.value) {
            (Allocation::DevicePlugin, DevicePlugin::Gpuc) => {
                "remove it: with `devicePlugin: nvidia` in `stack`, gpuc deploys this plugin instead of gpuc-runtime"
            }
            _ => "remove it",
        };
        builder.help(help).emit();
    }
}

/// The component that advertises a pool's GPUs.
fn advertiser(pool: &Pool) -> &'static str {
    match (pool.allocation.value, pool.plugin.value) {
        (Allocation::Dra, _) => "NVIDIA's DRA driver",
        (_, DevicePlugin::Gpuc) => "gpuc-runtime",
        (_, DevicePlugin::Nvidia) => "the chart of NVIDIA's device plugin",
        (_, DevicePlugin::Operator) => "the GPU Operator",
        (_, DevicePlugin::Cloud) => "the cloud",
    }
}

/// Whether a chart advertises the pool's GPUs. The manifest may be the rendered chart.
fn is_advertised_by_chart(pool: &Pool) -> bool {
    let plugins = [DevicePlugin::Nvidia, DevicePlugin::Operator];
    plugins.iter().any(|it| pool.is_advertised_by(*it))
}

fn is_generated_by_chart(pod: &Pod<'_>) -> bool {
    let metadata = pod.object.root.get("metadata");
    let labels = metadata.and_then(|it| it.get("labels"));
    labels.is_some_and(|it| it.get("helm.sh/chart").is_some())
}

/// The last components of the names of images with a device plugin for NVIDIA GPUs, NVIDIA's own or a cloud's. Images
/// of other vendors have such names too.
///
/// Sources: NVIDIA/k8s-device-plugin@v0.17.1 `deployments/static/nvidia-device-plugin.yml`;
/// GoogleCloudPlatform/container-engine-accelerators `cmd/nvidia_gpu/device-plugin.yaml` (from memory).
const PLUGIN_IMAGES: &[&str] = &[
    "k8s-device-plugin",
    "nvidia-device-plugin",
    "nvidia-gpu-device-plugin",
];

/// The directory in which device plugins register with the kubelet.
const PLUGIN_SOCKET_DIR: &str = "/var/lib/kubelet/device-plugins";

/// The container that runs a device plugin: the pod mounts the kubelet's directory for them.
fn plugin_container<'c>(pod: &'c Pod<'_>) -> Option<&'c Container<'c>> {
    let mut paths = pod.host_paths();
    if !paths.any(|(_, path)| path.trim_end_matches('/') == PLUGIN_SOCKET_DIR) {
        return None;
    }
    let of_nvidia = |text: &str| text.contains("nvidia");
    let title = pod.title().to_ascii_lowercase();
    pod.containers.iter().find(|container| {
        let image = container.image().and_then(Node::text).unwrap_or_default();
        let name = image.split('@').next().unwrap_or_default();
        let last = name.rsplit('/').next().unwrap_or_default();
        let last = last.split(':').next().unwrap_or_default();
        let is_named = of_nvidia(image) || of_nvidia(&title) || of_nvidia(container.name());
        !container.is_init && is_named && PLUGIN_IMAGES.contains(&last) && runs_plugin(container)
    })
}

/// Whether the container runs the plugin and not another program of its image, such as GPU feature discovery or the MPS
/// daemon.
fn runs_plugin(container: &Container<'_>) -> bool {
    let command = container.node.get("command");
    let program = command.map_or(&[][..], Node::items).first();
    program.and_then(Node::text).is_none_or(|program| {
        let last = program.rsplit('/').next().unwrap_or_default();
        PLUGIN_IMAGES.contains(&last)
    })
}
