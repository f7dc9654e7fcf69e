//! The pods of a gang together exceed the capacity of the pools or the quota of the team.

use gpuc_model::scheduling::contention::{self, ExceededByTeam};
use gpuc_model::scheduling::find_over_capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gang_scheduling::{Gang, find_gangs};
use crate::running_workloads::split_into_single_pods;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4044",
        name: "manifest-gang-too-large",
        severity: Severity::Error,
        summary: "the pods of a job that must start together exceed the capacity of the pools or the team's quota",
        checks: "Whether all pods together of a TrainJob, a RayJob, a Kubeflow training operator job or a Volcano job,
and, in queues, of a JobSet, fit in the pools at their maximum number of nodes and in the team's quota.

Jobs that can run with fewer pods, by an `elasticPolicy` or `minAvailable`, and jobs whose pods run one
after the other are not checked.",
        reason: "Each pod waits for the others: the job never starts, and its first pods may occupy GPUs while they wait.",
        remedy: "Request fewer pods or fewer GPUs per pod, or give the pool more nodes.",
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, namespace: research}
spec:
  runtimeRef: {name: ours}
  trainer: {numNodes: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}
"#,
        correction: Correction::Replace("numNodes: 3", "numNodes: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for gang in find_gangs(ctx, true) {
        check_gang(ctx, &gang, &RULE.code, report);
    }
}

/// Reports a job whose pods do not fit together although each of them fits alone.
pub(super) fn check_gang<'s>(
    ctx: &CheckContext<'s>,
    gang: &Gang<'s>,
    code: &'static Code,
    report: &mut Report,
) {
    let merged = gang.merged();
    let single_pods: Vec<_> = gang.roles.iter().flat_map(split_into_single_pods).collect();
    // A single pod that does not fit is reported by other rules.
    let mut each = single_pods.iter().map(std::slice::from_ref);
    if each.all(|pod| find_over_capacity(ctx.cluster, pod).is_empty()) {
        for over_capacity in find_over_capacity(ctx.cluster, &gang.roles) {
            contention::over_capacity_diagnostic(&over_capacity, code, &gang.roles, report).emit();
        }
    }
    let mut each = single_pods.iter().map(std::slice::from_ref);
    if each.all(|pod| ExceededByTeam::by_workload(ctx.cluster, pod, 0).is_empty()) {
        let merged = [merged];
        for sum in ExceededByTeam::by_workload(ctx.cluster, &merged, 0) {
            sum.diagnostic(code, &merged, report).emit();
        }
    }
}
