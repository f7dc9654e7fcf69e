//! Pods that use GPUDirect with some of the GPUs of a node.

use gpuc_schema::config::Task;

use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_model::{Cluster, PodGpuRequest};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2692",
        name: "gke-gpudirect-partial-node",
        severity: Severity::Error,
        summary: "a multi-node workload requests some, but not all, GPUs of nodes with GPUDirect",
        checks: r"Whether each pod of a multi-node workload requests all GPUs of its node, on pools with
`network.gpudirect`.",
        reason: r"A pod uses all GPU interfaces of its node. A second pod on the node gets none and stays pending
indefinitely.",
        remedy: r"Request all GPUs of a node, on fewer nodes: `gpusPerNode: 8`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
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
        correction: Correction::Replace("gpusPerNode: 4", "gpusPerNode: 8"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let task = workload.task();
        let nodes = task.and_then(Task::nodes).filter(|nodes| nodes.value > 1);
        let (Some(task), Some(_)) = (task, nodes) else {
            continue;
        };
        let pools = fitting_pools(cluster, workload).into_iter();
        let mut with_gpudirect =
            pools.filter_map(|pool| Some((pool, pool.settings.network.gpudirect.as_ref()?)));
        let (Some((pool, written)), Some(gpu_request)) =
            (with_gpudirect.next(), PodGpuRequest::for_task(task))
        else {
            continue;
        };
        let available = gpu_request.per_node(pool, false);
        if gpu_request.count >= available {
            continue;
        }
        let message = format!(
            "workload `{}` requests {} of the {available} GPUs of a node, but uses all of its GPU interfaces",
            workload.name, gpu_request.count
        );
        let span = task.gpus().map_or(workload.name.span, |gpus| gpus.span);
        let builder = report
            .diagnostic(&RULE.code, span, message)
            .label(written.span, "the interfaces serve all GPUs of a node");
        builder
            .help(format!("request {available} GPUs per node, on fewer nodes"))
            .emit();
    }
}
