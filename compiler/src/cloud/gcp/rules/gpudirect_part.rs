//! Pods that use GPUDirect with a part of a node's GPUs.

use gpuc_schema::config::Task;

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, GpuAsk};
use crate::placement::holding;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2692",
        name: "gke-gpudirect-part",
        severity: Severity::Error,
        summary: "a workload on several nodes takes a part of the GPUs that have GPUDirect",
        explain: r"### What it checks

Whether the pods of a workload on several nodes of a pool with `network.gpudirect` each ask for all
GPUs of a node.

### Why it matters

A pod has all interfaces of its node, and a daemon beside it serves all of the node's GPUs. A second
pod on the node would get neither and wait for ever.

### What to do

Ask for all GPUs of a node: `gpusPerNode: 8`, on fewer nodes.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-highgpu-8g
    nodes: {count: 2}
    network:
      gpudirect:
        interfaces:
          - {network: gpu-0, subnetwork: gpu-0}
          - {network: gpu-1, subnetwork: gpu-1}
          - {network: gpu-2, subnetwork: gpu-2}
          - {network: gpu-3, subnetwork: gpu-3}
workloads:
  - {name: train, jobSet: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-highgpu-8g
    nodes: {count: 2}
    network:
      gpudirect:
        interfaces:
          - {network: gpu-0, subnetwork: gpu-0}
          - {network: gpu-1, subnetwork: gpu-1}
          - {network: gpu-2, subnetwork: gpu-2}
          - {network: gpu-3, subnetwork: gpu-3}
workloads:
  - {name: train, jobSet: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let task = workload.task();
        let nodes = task.and_then(Task::nodes).filter(|nodes| nodes.value > 1);
        let (Some(task), Some(_)) = (task, nodes) else {
            continue;
        };
        let pools = holding(cluster, workload).into_iter();
        let mut direct =
            pools.filter_map(|pool| Some((pool, pool.written.network.gpudirect.as_ref()?)));
        let (Some((pool, written)), Some(ask)) = (direct.next(), GpuAsk::of(task)) else {
            continue;
        };
        let all = ask.per_node(pool, false);
        if ask.count >= all {
            continue;
        }
        let message = format!(
            "workload `{}` takes {} of the {all} GPUs of a node, and all of its interfaces",
            workload.name, ask.count
        );
        let place = task.gpus().map_or(workload.name.span, |gpus| gpus.span);
        let draft = report.draft(&RULE.code, place, message);
        let draft = draft.label(written.span, "the interfaces belong to all GPUs together");
        draft
            .help(format!("ask for {all} GPUs on each node, and fewer nodes"))
            .emit();
    }
}
