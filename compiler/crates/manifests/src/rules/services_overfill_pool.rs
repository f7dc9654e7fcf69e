//! The services of a pool exceed the capacity of its nodes.

use gpuc_model::scheduling::{contention, find_over_capacity};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::services::ServiceWorkloads;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4039",
        name: "manifest-services-overfill-pool",
        severity: Severity::Error,
        summary: "the services of a pool exceed the capacity of its nodes",
        checks: "Whether the Deployments, StatefulSets and LeaderWorkerSets of the manifests and of the file together, plus
the requests of DaemonSets on every node, fit in the pools at their maximum number of nodes: full GPUs, MIG
devices and replicas, CPU and memory. Each pod must fit on one node.

Objects count with their minimum number of pods, also those with an autoscaler. Of objects with the same
name in several files, the smallest counts.",
        reason: "Services run until they are deleted, and an autoscaler stops at the pool's maximum number of nodes. Some
pods stay Pending indefinitely, and no capacity is free for jobs.",
        remedy: "Give the pool more nodes, run fewer pods, or run some of them on another pool.",
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 3
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: search, namespace: research}
spec:
  replicas: 2
  selector: {matchLabels: {app: search}}
  template:
    metadata: {labels: {app: search}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("replicas: 2", "replicas: 1"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let services = ServiceWorkloads::from_context(ctx);
    for over_capacity in find_over_capacity(ctx.cluster, &services.workloads) {
        if services.includes_manifests(&over_capacity.workloads) {
            contention::over_capacity_diagnostic(
                &over_capacity,
                &RULE.code,
                &services.workloads,
                report,
            )
            .emit();
        }
    }
}
