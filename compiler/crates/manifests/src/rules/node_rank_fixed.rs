//! Several identical pods start `torchrun` with the same rank.

use gpuc_kubernetes::launch;
use gpuc_model::Cluster;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::gang_scheduling::gang_pods;
use crate::pod_count::parse_pod_count;
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4110",
        name: "manifest-node-rank-fixed",
        severity: Severity::Warning,
        summary: "several identical pods start PyTorch with the same rank",
        checks: "Whether `--node-rank` of `torchrun` or `torch.distributed.launch` is a number in a pod of which the controller
creates several, and `--nnodes` is more than 1.",
        reason: "Each node needs its own rank. With the same rank in every pod, the processes wait for the missing ranks until the
rendezvous times out.",
        remedy: "Use the index of the pod: `$(JOB_COMPLETION_INDEX)` in a Job with `completionMode: Indexed`. A TrainJob and a
PyTorchJob set the rank of `torchrun` themselves: remove the option.",
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
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          command: [torchrun, --nnodes=2, --node-rank=0, --master-addr=train-0.train, train.py]
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("--node-rank=0", "--node-rank=$(JOB_COMPLETION_INDEX)"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        let Some(pods) = identical_pods(ctx.cluster, pod).filter(|pods| *pods > 1) else {
            continue;
        };
        for container in &pod.containers {
            let list = |key: &str| container.node.get(key).map_or(&[][..], Node::items).iter();
            let nodes: Vec<_> = list("command").chain(list("args")).collect();
            let words = nodes.iter().map(|node| node.text().unwrap_or_default());
            let Some(word) = launch::fixed_node_rank(&words.collect::<Vec<_>>()) else {
                continue;
            };
            let message = format!(
                "{}: its {pods} pods have the same `--node-rank`",
                pod.title()
            );
            let help = match pod.object.kind.as_str() {
                "Job" => {
                    "write `--node-rank=$(JOB_COMPLETION_INDEX)`, and `completionMode: Indexed` for the Job"
                }
                "PyTorchJob" | "TrainJob" => {
                    "remove the option: the operator sets the rank of `torchrun`"
                }
                _ => "use the index of the pod as the rank",
            };
            report
                .diagnostic(&RULE.code, nodes[word].span(), message)
                .primary_label("each node needs its own rank")
                .help(help)
                .emit();
        }
    }
}

/// The number of identical pods that the pod's controller runs at the same time, if it is known.
fn identical_pods(cluster: &Cluster, pod: &Pod<'_>) -> Option<u64> {
    let spec = pod.object.root.get("spec")?;
    let count = |key: &str| parse_pod_count(spec, key).map(|it| it.pods);
    match (pod.object.group(), pod.object.kind.as_str()) {
        ("batch", "Job") => count("parallelism"),
        ("apps", "Deployment" | "StatefulSet" | "ReplicaSet") => count("replicas"),
        _ => gang_pods(cluster, pod).map(|it| it.pods),
    }
}
