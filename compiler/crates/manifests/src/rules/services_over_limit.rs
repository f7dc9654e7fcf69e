//! The services of a team together exceed the team's quota.

use gpuc_model::scheduling::contention::ExceededByTeam;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::services::ServiceWorkloads;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4038",
        name: "manifest-services-over-limit",
        severity: Severity::Error,
        summary: "the services of a team together exceed the team's quota",
        checks: "Whether all Deployments, StatefulSets and LeaderWorkerSets in a team's namespaces together, from the file
and from the manifests, stay within the team's quota with their minimum number of pods: full GPUs, MIG
devices and replicas, CPU, memory, pods, and the storage of PersistentVolumeClaims. With queues, the quota
is the guaranteed quota plus the quota that the team may borrow.

[`manifest-quota-exceeded`](#gpuc4010) reports single objects. Of objects with the same name in several
files, the smallest counts.",
        reason: "Services run until they are deleted. Which of them gets no pods depends on the order of creation.",
        remedy: "Run fewer pods, or raise the team's `limit`, or its quota of CPU, memory or pods.",
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
--- # manifest.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 2
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
        correction: Correction::Whole(r#"apiVersion: gpuc.dev/v1alpha1
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
--- # manifest.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
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
  replicas: 1
  selector: {matchLabels: {app: search}}
  template:
    metadata: {labels: {app: search}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let services = ServiceWorkloads::from_context(ctx).with_quota_pools(ctx.cluster);
    let services = services.with_volumes(ctx);
    for sum in ExceededByTeam::by_services(ctx.cluster, &services.workloads) {
        if services.includes_manifests(sum.workload_indexes()) {
            sum.diagnostic(&RULE.code, &services.workloads, report)
                .emit();
        }
    }
}
