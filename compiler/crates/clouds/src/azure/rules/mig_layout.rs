//! MIG geometry that AKS cannot create.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Sharing;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::mig;
use super::catalog_size;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2715",
        name: "aks-mig-layout",
        severity: Severity::Error,
        summary: "AKS cannot create this MIG geometry",
        checks: "Whether AKS can create the MIG geometry of a pool. AKS fills every GPU of every node with MIG devices
of one profile. It supports the plain profiles with 1, 2, 3, 4 or 7 compute slices.",
        reason: "On AKS the node partitions its own GPUs, according to the GPU instance profile of the pool. A pool
has one profile for all its GPUs, which cannot be changed.",
        remedy: "Write one of the geometries that the help lists, or create a pool for each MIG profile.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 3g.40gb, count: 1}, {profile: 1g.10gb, count: 4}]}]}}
"#,
        correction: Correction::Replace("1}, {profile: 1g.10gb, count: 4", "2"),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/gpu-multi-instance.md`@04921f5f, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let is_supported = catalog_size(pool).is_none_or(|size| size.aks_mig);
        let sharing = &cluster.pool_in_file(pool).sharing.value;
        let (Sharing::Mig(written), Some(mig)) = (sharing, gpus.model.mig) else {
            continue;
        };
        if !is_supported
            || !mig::is_partitioned_by_aks(pool)
            || mig::instance_profile(pool).is_some()
        {
            continue;
        }
        let geometries = mig::geometries(mig)
            .map(|(_, profile, count)| format!("{count} x {}", profile.name))
            .collect::<Vec<_>>();
        let span = written
            .per_gpu
            .first()
            .map_or(pool.sharing_span, |layout| layout.span);
        let message = format!("AKS cannot create the MIG geometry of pool `{}`", pool.name);
        report
            .diagnostic(&RULE.code, span, message)
            .label(gpus.span, "the GPU model is set here")
            .help(format!(
                "partition every GPU in the same way: {}",
                geometries.join(", ")
            ))
            .emit();
    }
}
