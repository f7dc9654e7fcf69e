//! A taint that evicts the control daemons of the Multi-Process Service.

use gpuc_schema::config::TaintEffect;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

/// A taint that evicts the control daemons of the Multi-Process Service.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2118",
        name: "dra-mps-evicted",
        severity: Severity::Error,
        summary: "a taint evicts what claims with the Multi-Process Service need",
        explain: "### What it checks

Whether a pool with `allocation: dra` and `sharing.mps` has a taint with the effect `NoExecute`.

### Why it matters

For each such claim the driver starts a control daemon on the node, which tolerates nothing and
takes no setting for it. It is put on its node past the scheduler, so that other taints do not
matter; this one evicts it, and the claim is never ready.

### What to do

Write `NoSchedule`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: maintenance, value: "yes", effect: NoExecute}]
    sharing: {mps: {replicas: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: maintenance, value: "yes", effect: NoSchedule}]
    sharing: {mps: {replicas: 4}}
"#,
    },
    run,
};

/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `templates/mps-control-daemon.tmpl.yaml`, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_claimed() {
        if !matches!(pool.sharing.get(), Some(Sharing::Mps { .. })) {
            continue;
        }
        let evicts = |taint: &&crate::model::PoolTaint| taint.effect == TaintEffect::NoExecute;
        for taint in pool.taints.iter().filter(evicts) {
            let message = format!(
                "the taint `{}` evicts the control daemons of claims on pool `{}`",
                taint.key, pool.name
            );
            report
                .draft(&RULE.code, taint.span, message)
                .here("they tolerate nothing")
                .label(pool.written.sharing.span, "each claim of a GPU starts one")
                .help("write `effect: NoSchedule`")
                .emit();
        }
    }
}
