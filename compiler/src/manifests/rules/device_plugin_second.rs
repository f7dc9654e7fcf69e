//! A second device plugin for GPUs that another one advertises.

use gpuc_schema::config::{Allocation, DevicePlugin};

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::held;
use crate::manifests::{Container, Pod, Rule, Scene};
use crate::model::Pool;
use crate::node::Node;
use crate::placement::Answer;

/// A second device plugin for GPUs that another one advertises.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4092",
        name: "manifest-device-plugin-second",
        severity: Severity::Error,
        summary: "a second device plugin for GPUs that another one advertises",
        explain: "### What it checks

Whether a DaemonSet with NVIDIA's device plugin runs on nodes whose GPUs something of the cluster's
file advertises already: gpuc-runtime, NVIDIA's chart, the GPU Operator or the cloud.

### Why it matters

Both tell the kubelet of the same GPUs. Under one name the later one takes the place of the first, and
shares or slices are gone with it; under two names each GPU is given out twice.

### What to do

Leave the manifest out. Tutorials for plain clusters bring it because nothing else advertises GPUs
there. For NVIDIA's device plugin in place of gpuc-runtime, write `devicePlugin: nvidia` in `stack`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      nodeSelector: {gpuc.dev/pool: cpu}
      containers:
        - name: plugin
          image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
          volumeMounts: [{name: plugins, mountPath: /var/lib/kubelet/device-plugins}]
      volumes: [{name: plugins, hostPath: {path: /var/lib/kubelet/device-plugins}}]
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in scene.pods.iter().filter(|pod| pod.is_of_nodes()) {
        let Some(container) = plugin(pod) else {
            continue;
        };
        let Some((_, verdicts)) = held(scene.cluster, &scene.claims, pod) else {
            continue;
        };
        let mut there = verdicts.iter().filter(|verdict| {
            let is_its_own = is_of_chart(pod) && by_chart(verdict.pool);
            verdict.pool.has_gpus() && verdict.answer() == Answer::Yes && !is_its_own
        });
        let Some(first) = there.next() else {
            continue;
        };
        let pool = first.pool;
        let span = container.image().map_or(container.node.span(), Node::span);
        let message = format!(
            "{} is a second device plugin on the nodes of pool `{}`",
            pod.title(),
            pool.name
        );
        let draft = report.draft(&RULE.code, span, message);
        let draft = draft.label(pool.name.span, format!("{} its GPUs already", whose(pool)));
        let help = match (pool.allocation.value, pool.plugin.value) {
            (Allocation::DevicePlugin, DevicePlugin::Gpuc) => {
                "leave it out, or write `devicePlugin: nvidia` in `stack` for NVIDIA's in place of gpuc-runtime"
            }
            _ => "leave it out",
        };
        draft.help(help).emit();
    }
}

/// Who advertises a pool's GPUs, in words that go before them.
fn whose(pool: &Pool) -> &'static str {
    match (pool.allocation.value, pool.plugin.value) {
        (Allocation::Dra, _) => "NVIDIA's DRA driver offers",
        (_, DevicePlugin::Gpuc) => "gpuc-runtime advertises",
        (_, DevicePlugin::Nvidia) => "NVIDIA's device plugin, by its chart, advertises",
        (_, DevicePlugin::Operator) => "the GPU Operator advertises",
        (_, DevicePlugin::Cloud) => "the cloud advertises",
    }
}

/// Whether what advertises a pool's GPUs is a chart, of which this may be the rendered text.
fn by_chart(pool: &Pool) -> bool {
    let plugins = [DevicePlugin::Nvidia, DevicePlugin::Operator];
    plugins.iter().any(|it| pool.is_advertised_by(*it))
}

fn is_of_chart(pod: &Pod<'_>) -> bool {
    let metadata = pod.object.root.get("metadata");
    let labels = metadata.and_then(|it| it.get("labels"));
    labels.is_some_and(|it| it.get("helm.sh/chart").is_some())
}

/// The last parts of the names of images with NVIDIA's device plugin, or a cloud's for NVIDIA's cards. Other makers'
/// have such names too.
///
/// Sources: NVIDIA/k8s-device-plugin@v0.17.1 `deployments/static/nvidia-device-plugin.yml`;
/// GoogleCloudPlatform/container-engine-accelerators `cmd/nvidia_gpu/device-plugin.yaml` (from memory).
const IMAGES: &[&str] = &[
    "k8s-device-plugin",
    "nvidia-device-plugin",
    "nvidia-gpu-device-plugin",
];

/// Where device plugins meet the kubelet.
const SOCKETS: &str = "/var/lib/kubelet/device-plugins";

/// The container that is such a plugin: it has the folder in which plugins meet the kubelet.
fn plugin<'c>(pod: &'c Pod<'_>) -> Option<&'c Container<'c>> {
    let mut paths = pod.host_paths();
    if !paths.any(|(_, path)| path.trim_end_matches('/') == SOCKETS) {
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
        !container.is_init && is_named && IMAGES.contains(&last) && runs_it(container)
    })
}

/// Whether the container runs the plugin and not what else is in its image: what writes labels, or MPS' daemon.
fn runs_it(container: &Container<'_>) -> bool {
    let command = container.node.get("command");
    let program = command.map_or(&[][..], Node::items).first();
    program.and_then(Node::text).is_none_or(|program| {
        let last = program.rsplit('/').next().unwrap_or_default();
        IMAGES.contains(&last)
    })
}
