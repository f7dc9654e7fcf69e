//! A container starts more processes than it has GPUs.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::resources::{ResourceCount, parse_count};
use crate::{CheckContext, Container, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4101",
        name: "manifest-processes-over-gpus",
        severity: Severity::Warning,
        summary: "a container starts more processes than it has GPUs",
        checks: "Whether `--nproc-per-node` or `--nproc_per_node` of `torchrun` and `torch.distributed.launch`, as a number in
`command` or `args`, is at most the number of GPUs that the container requests.",
        reason: "PyTorch starts one process for each GPU. A process without a GPU ends with `CUDA error: invalid device ordinal`, and
the others with it.",
        remedy: "Request as many GPUs as there are processes, or write `--nproc-per-node=gpu`, which starts a process for each GPU.",
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

/// The options for the number of processes on a node.
///
/// Source: <https://docs.pytorch.org/docs/stable/elastic/run.html>, 2026-11-28 (from memory).
const OPTIONS: &[&str] = &["--nproc-per-node", "--nproc_per_node"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        for container in &pod.containers {
            let Some(gpus) = container.gpu_request() else {
                continue;
            };
            let ResourceCount::Whole(count) = parse_count(&gpus.value) else {
                continue;
            };
            let Some((word, processes)) = process_count(container).filter(|it| it.1 > count) else {
                continue;
            };
            let message = format!(
                "{}: container `{}` starts {processes} processes for {count} of `{}`",
                pod.title(),
                container.name(),
                gpus.key
            );
            report
                .diagnostic(&RULE.code, word.span(), message)
                .primary_label("one process for each GPU")
                .label(gpus.value.span(), "the GPUs of the container")
                .help("request as many GPUs, or write `--nproc-per-node=gpu`")
                .emit();
        }
    }
}

/// The number of processes on the command line, and the word that contains it.
fn process_count<'n>(container: &Container<'n>) -> Option<(&'n Node, u64)> {
    let list = |key: &str| container.node.get(key).map_or(&[][..], Node::items).iter();
    let words: Vec<_> = list("command").chain(list("args")).collect();
    let mut found = words.iter().enumerate().filter_map(|(index, word)| {
        let text = word.text()?;
        let next = words.get(index + 1).copied();
        // A script in one word, or one option per word.
        let inside = find_in_script(text).map(|count| (*word, count));
        let separate = || {
            let is_option = OPTIONS.contains(&text);
            let next = next.filter(|_| is_option)?;
            Some((next, next.text()?.parse().ok()?))
        };
        inside.or_else(separate)
    });
    found.next()
}

/// The number after an option in a text of one or several words.
fn find_in_script(text: &str) -> Option<u64> {
    OPTIONS.iter().find_map(|option| {
        let (_, rest) = text.split_once(option)?;
        let rest = rest.strip_prefix(['=', ' '])?.trim_start();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}
