//! A collective operation of `PyTorch` timed out, because one of the processes does not take part.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, logs_command, pod_ref, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7808",
        name: "collective-timed-out",
        severity: Severity::Error,
        summary: "a collective operation timed out because a process does not take part",
        checks: "Whether the log of a pod with GPUs contains the message of PyTorch's watchdog for NCCL.",
        reason: "All processes of a job must take part in a collective operation. If one of them ended or hangs, all \
others wait until the watchdog stops them, after 10 minutes by default. Their messages do not name the cause.",
        remedy: "Find the first process that failed: a failed pod of the same job, or the rank that is missing in the \
message. Its node often has a GPU or network fault.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata:
      name: train-0
      namespace: ml
      ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, controller: true}]
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "8"}}}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/ml/train-0/main.log
[rank0]:[E] ProcessGroupNCCL.cpp:632 [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=81, OpType=ALLREDUCE) ran for 600040 milliseconds before timing out.
"#,
        correction: Correction::Replace(
            "[rank0]:[E] ProcessGroupNCCL.cpp:632 [Rank 0] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=81, OpType=ALLREDUCE) ran for 600040 milliseconds before timing out.",
            "step 81 loss 2.1",
        ),
    },
    layer: Layer::Fabric,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// The message of the watchdog.
///
/// Source: pytorch/pytorch `torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, 2026-11-22.
const MESSAGE: &str = "Watchdog caught collective operation timeout";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pod in &ctx.state.pods.items {
        if pod.spec.node_name.is_empty() || !is_active(pod) || !uses_gpus(pod) {
            continue;
        }
        let Some(evidence) = find_line(ctx, pod, |line| line.contains(MESSAGE)) else {
            continue;
        };
        let siblings: Vec<&Pod> = siblings(ctx, pod);
        let failed = siblings.iter().find(|it| it.status.phase == "Failed");
        let message =
            "a collective operation timed out: another process of the job does not take part";
        let mut finding = Finding::new(&CHECK.code, pod_ref(pod), message).evidence(evidence);
        // A fault of the node of any pod of the job explains it.
        let nodes: Vec<ObjectRef> = (siblings.iter())
            .filter(|it| !it.spec.node_name.is_empty())
            .flat_map(|it| [ObjectRef::node(&it.spec.node_name), pod_ref(it)])
            .filter(|it| *it != pod_ref(pod))
            .collect();
        finding = finding.depends_on(nodes);
        let (help, command) = match failed {
            Some(failed) => {
                finding = finding.field(pod_ref(failed), "status.phase", "Failed");
                let node = &failed.spec.node_name;
                let help = format!(
                    "read the log of the pod `{}`, which failed on the node `{node}`",
                    failed.metadata.name
                );
                (help, logs_command(failed))
            }
            None => (
                "find the process that does not take part: compare the last lines of the logs of all pods of the job"
                    .to_owned(),
                logs_command(pod),
            ),
        };
        findings.push(finding.help(help).command(command));
    }
}

/// The pods of the same controller.
fn siblings<'s>(ctx: &Context<'s>, pod: &Pod) -> Vec<&'s Pod> {
    let Some(owner) = pod.metadata.controller() else {
        return Vec::new();
    };
    let pods = ctx.state.pods.items.iter();
    let same = pods.filter(|it| {
        let controller = it.metadata.controller();
        it.metadata.namespace == pod.metadata.namespace
            && controller.is_some_and(|it| it.kind == owner.kind && it.name == owner.name)
    });
    same.collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn the_failed_pod_of_the_job_is_named() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (items, logs) = objects.split_once("--- # logs").unwrap();
        let failed = items
            .split("  - apiVersion: v1\n    kind: Pod\n")
            .nth(1)
            .unwrap();
        let failed = failed
            .replace("train-0", "train-1")
            .replace("nodeName: gpu-1", "nodeName: gpu-2")
            .replace("phase: Running", "phase: Failed");
        let objects = format!("{items}  - apiVersion: v1\n    kind: Pod\n{failed}--- # logs{logs}");
        let (found, text) = codes(&objects);
        assert!(found.contains(&CHECK.code.id), "{text}");
        assert!(
            text.contains("read the log of the pod `train-1`, which failed on the node `gpu-2`"),
            "{text}"
        );
    }

    #[test]
    fn an_unready_node_of_the_job_explains_it() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects.replace(
            "conditions: [{type: Ready, status: \"True\"}]\n  - apiVersion: v1\n    kind: Pod",
            "conditions: [{type: Ready, status: \"False\", message: stopped}]\n  - apiVersion: v1\n    kind: Pod",
        );
        let (found, text) = codes(&objects);
        assert_eq!(found, ["GPUC7101"], "{text}");
        assert!(
            text.contains("explains: Pod ml/train-0 waits for it"),
            "{text}"
        );
    }
}
