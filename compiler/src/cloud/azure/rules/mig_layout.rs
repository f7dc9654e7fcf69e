//! A MIG layout that AKS cannot make.

use gpuc_schema::config::Sharing;

use super::super::mig;
use super::size;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A MIG layout that AKS cannot make.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2715",
        name: "aks-mig-layout",
        severity: Severity::Error,
        summary: "AKS cannot cut GPUs like this",
        explain: "### What it checks

Whether AKS can make a pool's MIG layout: every GPU of every node full of slices of one profile, the
plain ones of 1, 2, 3, 4 or 7 compute slices.

### Why it matters

On AKS the node itself cuts its GPUs, by the pool's GPU instance profile, which is one for all of
them and stays for as long as the pool lives.

### What to do

Write one of the layouts in the help, or make a pool for each kind of slice.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 3g.40gb, count: 2}]}]}}
"#,
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs `articles/aks/gpu-multi-instance.md`@04921f5f, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let can = size(pool).is_none_or(|size| size.aks_mig);
        let (Sharing::Mig(written), Some(card)) = (&pool.written.sharing.value, gpus.model.mig)
        else {
            continue;
        };
        if !can || !mig::is_cut_by_aks(pool) || mig::flag(pool).is_some() {
            continue;
        }
        let layouts = mig::layouts(card)
            .map(|(_, profile, count)| format!("{count} x {}", profile.name))
            .collect::<Vec<_>>();
        let span = written
            .per_gpu
            .first()
            .map_or(pool.written.sharing.span, |layout| layout.span);
        let message = format!("AKS cannot cut the GPUs of pool `{}` like this", pool.name);
        report
            .draft(&RULE.code, span, message)
            .label(gpus.chosen, "the card is chosen here")
            .help(format!(
                "it makes the same of every GPU: {}",
                layouts.join(", ")
            ))
            .emit();
    }
}
