//! A container starts more processes than it has GPUs.

use gpuc_kubernetes::launch;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use crate::resources::{ResourceCount, parse_count};
use crate::{CheckContext, Container, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4101",
        name: "manifest-processes-over-gpus",
        severity: Severity::Warning,
        summary: "a container starts more processes than it has GPUs",
        checks: "Whether `--nproc-per-node` of `torchrun` and `torch.distributed.launch`, `--tensor-parallel-size` of vLLM on
one node, and `nprocPerNode` of a PyTorchJob are at most the number of GPUs that the container requests.",
        reason: "PyTorch and vLLM start one process for each GPU. A process without a GPU ends with `CUDA error: invalid device
ordinal`, and the others with it.",
        remedy: "Request as many GPUs as there are processes, or lower the number. `--nproc-per-node=gpu` starts a process for
each GPU.",
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
      command: [torchrun, --nproc-per-node=8, train.py]
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace(
            "--nproc-per-node=8",
            "--nproc-per-node=gpu",
        ),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        for container in &pod.containers {
            let Some(gpus) = container.gpu_request() else {
                continue;
            };
            let ResourceCount::Whole(count) = parse_count(&gpus.value) else {
                continue;
            };
            let found = processes_on_command_line(pod, container);
            let found = found.or_else(|| processes_of_job(pod, container));
            let Some((span, processes, option)) = found.filter(|it| it.1 > count) else {
                continue;
            };
            let message = format!(
                "{}: container `{}` starts {processes} processes for {count} of `{}`",
                pod.title(),
                container.name(),
                gpus.key
            );
            report
                .diagnostic(&RULE.code, span, message)
                .primary_label("one process for each GPU")
                .label(gpus.value.span(), "the GPUs of the container")
                .help(match option {
                    TORCH_OPTION | "--nproc_per_node" => {
                        "request as many GPUs, or write `--nproc-per-node=gpu`".to_owned()
                    }
                    other => format!("request as many GPUs, or lower `{other}`"),
                })
                .emit();
        }
    }
}

const TORCH_OPTION: &str = "--nproc-per-node";

/// The number of processes on the command line, with its place and option.
fn processes_on_command_line<'n>(
    pod: &Pod<'n>,
    container: &Container<'n>,
) -> Option<(Span, u64, &'static str)> {
    let list = |key: &str| container.node.get(key).map_or(&[][..], Node::items).iter();
    // A script of an Argo template is in `source`.
    let script = container.node.get("source").into_iter();
    let nodes: Vec<_> = list("command").chain(list("args")).chain(script).collect();
    let words = nodes.iter().map(|node| node.text().unwrap_or_default());
    let image = container.image().and_then(Node::text).unwrap_or_default();
    let found = launch::process_count(&words.collect::<Vec<_>>(), image)?;
    // Ray and LeaderWorkerSets start vLLM on several nodes.
    let is_distributed = ["ray.io", "leaderworkerset.x-k8s.io"];
    let is_torch = found.option.contains("nproc");
    if !is_torch
        && is_distributed
            .iter()
            .any(|group| pod.object.is_in_group(group))
    {
        return None;
    }
    Some((nodes[found.word].span(), found.count, found.option))
}

/// The number of processes that a PyTorchJob sets for `torchrun` in its pods.
///
/// Source: kubeflow/trainer release-1.9 `pkg/controller.v1/pytorch/envvar.go`, `PET_NPROC_PER_NODE` (read 2026-11-28).
fn processes_of_job(pod: &Pod<'_>, container: &Container<'_>) -> Option<(Span, u64, &'static str)> {
    let is_pytorch = pod.object.is_in_group("kubeflow.org") && pod.object.kind == "PyTorchJob";
    let number = pod.object.root.get("spec")?.get("nprocPerNode")?;
    let count = number.text()?.parse().ok()?;
    (is_pytorch && container.name() == "pytorch").then_some((number.span(), count, "nprocPerNode"))
}
