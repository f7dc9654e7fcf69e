//! A TrainJob of a runtime without tolerations does not tolerate the taints of the nodes with its GPUs.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::runtime_toleration_missing;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4076",
        name: "manifest-trainjob-toleration-missing",
        severity: Severity::Error,
        summary: "a TrainJob of a runtime without tolerations does not tolerate the taints of its GPU nodes",
        checks: "Whether a TrainJob with a runtime of the Kubeflow Trainer chart that gpuc installs has the toleration
that `manifest-runtime-toleration-missing` requires. Those runtimes have no tolerations, and neither
does the job.",
        reason: "No node with the GPUs accepts the pods: they stay Pending indefinitely.",
        remedy: "Write `tolerations` for its pods in `runtimePatches`, or create your own runtime with tolerations.",
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
charts: {kubeflow-trainer: {}}
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace(" trainer:", " runtimePatches:
    - manager: example.com/people
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec: {tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]}
  trainer:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    runtime_toleration_missing::check(ctx, &RULE.code, true, report);
}
