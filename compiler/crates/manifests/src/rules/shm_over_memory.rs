//! A container's shared memory is larger than its memory limit.

use gpuc_model::scheduling::thousandths_of_node;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Container, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4099",
        name: "manifest-shm-over-memory",
        severity: Severity::Warning,
        summary: "a container's shared memory is larger than its memory limit",
        checks: "Whether the `sizeLimit` of a memory-backed volume at `/dev/shm` is at most the memory limit of the container.",
        reason: "The files in a memory-backed volume count towards the memory of the container that writes them. The container is
killed before it has filled the volume.",
        remedy: "Raise the memory limit, or lower `sizeLimit`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1, memory: 32Gi}}
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
"#,
        correction: Correction::Replace(
            "sizeLimit: 64Gi",
            "sizeLimit: 16Gi",
        ),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        for container in pod.containers.iter().filter(|it| !it.is_init) {
            let limits = container.resource_list("limits");
            let memory = limits.iter().find(|entry| entry.key == "memory");
            let (Some(memory), Some(size)) = (memory, shm_size(pod, container)) else {
                continue;
            };
            let amounts = thousandths_of_node(&memory.value).zip(thousandths_of_node(size));
            let Some(_) = amounts.filter(|(memory, size)| *memory > 0 && size > memory) else {
                continue;
            };
            let text = |node: &Node| node.text().unwrap_or_default().to_owned();
            let message = format!(
                "{}: the shared memory of container `{}` ({}) is larger than its memory limit ({})",
                pod.title(),
                container.name(),
                text(size),
                text(&memory.value)
            );
            report
                .diagnostic(&RULE.code, size.span(), message)
                .primary_label("files here count towards the container's memory")
                .label(memory.value.span(), "the memory limit")
                .help("raise the memory limit, or lower `sizeLimit`")
                .emit();
        }
    }
}

/// The `sizeLimit` of the memory-backed volume at a container's `/dev/shm`.
fn shm_size<'n>(pod: &Pod<'n>, container: &Container<'n>) -> Option<&'n Node> {
    let list = |node: &'n Node, key: &str| node.get(key).map_or(&[][..], Node::items).iter();
    let text = |node: &'n Node, key: &str| node.get(key).and_then(Node::text);
    let mount = list(container.node, "volumeMounts").find(|mount| {
        text(mount, "mountPath").is_some_and(|path| path.trim_end_matches('/') == "/dev/shm")
    })?;
    if text(mount, "readOnly") == Some("true") {
        return None;
    }
    let name = text(mount, "name");
    let volume = list(pod.spec, "volumes").find(|volume| text(volume, "name") == name)?;
    let empty_dir = volume.get("emptyDir")?;
    (text(empty_dir, "medium") == Some("Memory")).then_some(())?;
    empty_dir.get("sizeLimit")
}
