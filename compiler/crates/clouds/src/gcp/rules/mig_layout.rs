//! MIG geometry that GKE cannot create.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, MigGpu, Pool, PoolGpus, Sharing};
use gpuc_schema::config::{DevicePlugin, MigStrategy};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{accelerator, partitions};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2613",
        name: "gke-mig-layout",
        severity: Severity::Error,
        summary: "GKE cannot create this MIG geometry",
        checks: r"Whether GKE can create the MIG geometry of a pool whose GPUs it advertises (`devicePlugin: cloud`). All
MIG devices must have one profile, which GKE supports on the GPU model, and must fill every GPU. They must
be advertised as `nvidia.com/gpu` (strategy `single`).",
        reason: r"GKE accepts one `gpu-partition-size` for a pool and fills each GPU with it. It does not support other
geometries.",
        remedy: r"Fill all GPUs with one profile and write `strategy: single`. Or choose gpuc's device plugin, which creates
any geometry: `devicePlugin: gpuc`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
nodePools:
  - name: gpu
    machine: a2-highgpu-1g
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}
    stack: {devicePlugin: cloud}
"#,
        correction: Correction::Replace("strategy: mixed", "strategy: single"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let Some(Sharing::Mig {
            strategy,
            gpus: partitioned,
        }) = pool.sharing.get()
        else {
            continue;
        };
        if pool.plugin.value != DevicePlugin::Cloud {
            continue;
        }
        if strategy.value == MigStrategy::Mixed {
            let message = "GKE advertises MIG devices only as `nvidia.com/gpu`";
            report
                .diagnostic(&RULE.code, strategy.span, message)
                .label(pool.plugin.span, "GKE advertises the GPUs")
                .help("write `strategy: single`")
                .replace(strategy.span, "single")
                .emit();
        }
        if let Some(reason) = unsupported_geometry(pool, gpus, partitioned) {
            report
                .diagnostic(&RULE.code, pool.sharing_span, reason)
                .label(pool.plugin.span, "GKE advertises the GPUs")
                .help(
                    "fill every GPU with one profile that GKE supports, or write `devicePlugin: gpuc`",
                )
                .emit();
        }
    }
}

/// The reason why GKE cannot create the geometry of a pool, if it cannot.
fn unsupported_geometry(pool: &Pool, gpus: &PoolGpus, partitioned: &[MigGpu]) -> Option<String> {
    let first = partitioned
        .iter()
        .flat_map(|gpu| &gpu.placements)
        .next()?
        .profile;
    let name = accelerator::accelerator_name(pool.machine.get()?, gpus)?;
    let sizes = partitions::partition_sizes(name).unwrap_or_default();
    let Some((_, count)) = sizes.iter().find(|(size, _)| *size == first) else {
        return Some(format!(
            "GKE does not support the MIG profile {first} on {name}"
        ));
    };
    let is_filled = |gpu: &MigGpu| {
        gpu.placements.len() == *count as usize
            && gpu
                .placements
                .iter()
                .all(|placement| placement.profile == first)
    };
    let is_supported = partitioned.iter().all(is_filled);
    (!is_supported).then(|| format!("GKE partitions every GPU of a pool into {count} x {first}"))
}
