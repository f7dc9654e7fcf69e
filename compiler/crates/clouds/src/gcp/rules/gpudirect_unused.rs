//! Machine types whose GPU network is not configured.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, MachineType};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{gpudirect, machines};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2622",
        name: "gke-gpudirect-unused",
        severity: Severity::Warning,
        summary: "the network between the GPUs of several machines is not configured",
        checks: r"Whether a pool with several machines of a type with GPUDirect-TCPX, -TCPXO or RDMA configures the
networks of its GPUs.",
        reason: r"The interfaces of the GPUs need networks of their own. Without them, multi-node jobs use the one ordinary
interface, at a fraction of the speed.",
        remedy: r"With GPUDirect RDMA (`a3-ultragpu-8g`, `a4-highgpu-8g` and later machines), write
`network: {gpudirect: {managed: {}}}`: GKE creates the networks. With `a3-megagpu-8g` and
`a3-highgpu-8g`, list a network for each interface in `network.gpudirect`. Otherwise run jobs on one node
and write `allow: [gke-gpudirect-unused]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-megagpu-8g
    nodes: {min: 1, max: 2}
"#,
        correction: Correction::Replace("min: 1, max: 2", "count: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
            continue;
        };
        let has_gpudirect = machines::find(machine.name).is_some_and(|row| row.gpudirect.is_some());
        let is_multi_node = pool.nodes.get().is_some_and(|nodes| nodes.max > 1);
        let is_configured = pool.settings.network.gpudirect.is_some();
        if has_gpudirect && is_multi_node && !is_configured && !pool.is_existing() {
            let message = format!(
                "the network between the GPUs of several `{}` is not configured",
                machine.name
            );
            let help = if gpudirect::pool_adapters(pool).is_some() {
                "let GKE create the networks, with `network: {gpudirect: {managed: {}}}`, or run jobs on one node"
            } else {
                "list the networks of the GPU interfaces in `network.gpudirect`, or run jobs on one node"
            };
            report
                .diagnostic(&RULE.code, gpus.span, message)
                .help(help)
                .emit();
        }
    }
}
