//! Slices that GKE's own device plugin cannot cut.

use gpuc_schema::config::{DevicePlugin, MigStrategy};

use super::super::{accelerator, partitions};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, MigGpu, Pool, PoolGpus, Sharing};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2613",
        name: "gke-partition",
        severity: Severity::Error,
        summary: "slices that GKE cannot cut",
        explain: r"### What it checks

Where GKE advertises the GPUs (`devicePlugin: cloud`): whether every GPU of the pool is cut into
slices of one size, as many as fit, of a size that GKE knows for the card, and offered as
`nvidia.com/gpu` (strategy `single`).

### Why it matters

GKE takes one `gpu-partition-size` for a pool and fills each GPU with it. Other layouts it
cannot express.

### What to do

Fill all GPUs with one profile and write `strategy: single`; or let gpuc's own plugin cut them:
`devicePlugin: gpuc`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
nodePools:
  - name: gpu
    machine: a2-highgpu-1g
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}
    stack: {devicePlugin: cloud}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
nodePools:
  - name: gpu
    machine: a2-highgpu-1g
    nodes: {count: 1}
    sharing: {mig: {strategy: single, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}
    stack: {devicePlugin: cloud}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let Some(Sharing::Mig {
            strategy,
            gpus: cut,
        }) = pool.sharing.get()
        else {
            continue;
        };
        if pool.plugin.value != DevicePlugin::Cloud {
            continue;
        }
        if strategy.value == MigStrategy::Mixed {
            let message = "GKE offers slices as `nvidia.com/gpu` alone";
            report
                .draft(&RULE.code, strategy.span, message)
                .label(pool.plugin.span, "GKE advertises the GPUs")
                .help("write `strategy: single`")
                .replace(strategy.span, "single")
                .emit();
        }
        if let Some(reason) = misfit(pool, gpus, cut) {
            report
                .draft(&RULE.code, pool.written.sharing.span, reason)
                .label(pool.plugin.span, "GKE advertises the GPUs")
                .help(
                    "fill every GPU with one profile that GKE knows, or write `devicePlugin: gpuc`",
                )
                .emit();
        }
    }
}

fn misfit(pool: &Pool, gpus: &PoolGpus, cut: &[MigGpu]) -> Option<String> {
    let first = cut.iter().flat_map(|gpu| &gpu.slices).next()?.profile;
    let name = accelerator::name(pool.machine.get()?, gpus)?;
    let sizes = partitions::partition_sizes(name).unwrap_or_default();
    let Some((_, most)) = sizes.iter().find(|(size, _)| *size == first) else {
        return Some(format!("GKE does not cut {name} into {first}"));
    };
    let filled = |gpu: &MigGpu| {
        gpu.slices.len() == *most as usize && gpu.slices.iter().all(|slice| slice.profile == first)
    };
    let all = cut.iter().all(filled);
    (!all).then(|| format!("GKE cuts every GPU of a pool into {most} x {first} or none"))
}
