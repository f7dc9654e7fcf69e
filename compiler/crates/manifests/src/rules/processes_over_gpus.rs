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

/// Programs before the launcher.
const PREFIXES: &[&str] = &["env", "exec", "nohup", "time"];

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
    let nodes: Vec<_> = list("command").chain(list("args")).collect();
    let words: Vec<_> = nodes
        .iter()
        .map(|node| node.text().unwrap_or_default())
        .collect();
    if let Some((index, count)) = find_in_command(&words) {
        return Some((nodes[index], count));
    }
    // A script is one word.
    nodes.iter().zip(&words).find_map(|(node, script)| {
        let commands = script.split(['\n', ';', '&', '|']);
        let mut found = commands.filter_map(|command| {
            let words: Vec<_> = command.split_whitespace().collect();
            find_in_command(&words).map(|(_, count)| count)
        });
        found.next().map(|count| (*node, count))
    })
}

/// The index of the word with the number of processes, and the number, if a command starts one process for each GPU.
fn find_in_command(words: &[&str]) -> Option<(usize, u64)> {
    let is_setting = |word: &&&str| word.contains('=') || PREFIXES.contains(word);
    let first = words.iter().take_while(is_setting).count();
    let program = words.get(first)?.rsplit('/').next()?;
    let starts_module = || {
        let arguments = words[first + 1..].windows(2);
        let mut modules = arguments.filter(|pair| pair[0] == "-m").map(|pair| pair[1]);
        modules.any(|module| module.starts_with("torch.distributed."))
    };
    let is_launcher = program == "torchrun" || program.starts_with("python") && starts_module();
    // Gloo needs no GPUs.
    if !is_launcher || words.iter().any(|word| word.contains("gloo")) {
        return None;
    }
    (first + 1..words.len()).find_map(|index| {
        let word = words[index];
        let (option, value, at) = match word.split_once('=') {
            Some((option, value)) => (option, value, index),
            None => (word, words.get(index + 1).copied()?, index + 1),
        };
        OPTIONS
            .contains(&option)
            .then(|| value.parse().ok())
            .flatten()
            .map(|count| (at, count))
    })
}
