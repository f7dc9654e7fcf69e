//! Machines whose fast network gpuc does not set up.

use super::super::{gpudirect, machines};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, MachineType};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2622",
        name: "gke-gpudirect-unused",
        severity: Severity::Warning,
        summary: "the network between GPUs of several machines is left out",
        explain: r"### What it checks

Whether a pool can have several machines of a type whose GPUs reach those of other machines
directly (GPUDirect-TCPX, -TCPXO or RDMA), and says nothing of their networks.

### Why it matters

Their fast network needs a VPC for each of its interfaces, which gpuc does not create. Without, jobs
over several nodes use the one ordinary interface, at a fraction of the speed.

### What to do

With `a3-megagpu-8g` and `a3-highgpu-8g`, name a network for each interface in
`network.gpudirect`. Or keep jobs on one node and write `allow: [gke-gpudirect-unused]`; or make the
pool by other means and describe it with `existing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-megagpu-8g
    nodes: {min: 1, max: 2}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-megagpu-8g
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
            continue;
        };
        let direct = machines::find(machine.name).is_some_and(|row| row.gpudirect.is_some());
        let several = pool.nodes.get().is_some_and(|nodes| nodes.max > 1);
        let written = pool.written.network.gpudirect.is_some();
        if direct && several && !written && !pool.is_existing() {
            let message = format!(
                "the fast network between the GPUs of several {} is not set up",
                machine.name
            );
            let help = if gpudirect::protocol(pool).is_ok() {
                "name the networks of their interfaces in `network.gpudirect`, or keep jobs on one node"
            } else {
                "keep jobs on one node, or make the pool by other means and use `existing`"
            };
            report
                .draft(&RULE.code, gpus.chosen, message)
                .help(help)
                .emit();
        }
    }
}
