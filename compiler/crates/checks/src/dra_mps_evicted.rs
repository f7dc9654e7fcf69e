//! A taint evicts the MPS control daemons of a pool with `allocation: dra`.

use gpuc_schema::config::TaintEffect;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2118",
        name: "dra-mps-evicted",
        severity: Severity::Error,
        summary: "a taint evicts the MPS control daemons of a pool with `allocation: dra`",
        checks: "Whether a pool with `allocation: dra` and `sharing.mps` has a taint with the effect `NoExecute`.",
        reason: "For each claim with MPS, the DRA driver starts a control daemon on the node. The daemon has no
tolerations, and the driver has no setting for them. It is bound to its node without the scheduler,
so that other taints do not matter. This effect evicts it, and the claim never becomes ready.",
        remedy: "Write `NoSchedule`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("NoExecute", "NoSchedule"),
    },
    run,
};

/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `templates/mps-control-daemon.tmpl.yaml`, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.dra_pools() {
        if !matches!(pool.sharing.get(), Some(Sharing::Mps { .. })) {
            continue;
        }
        let evicts = |taint: &&gpuc_model::PoolTaint| taint.effect == TaintEffect::NoExecute;
        for taint in pool.taints.iter().filter(evicts) {
            let message = format!(
                "the taint `{}` evicts the MPS control daemons on pool `{}`",
                taint.key, pool.name
            );
            report
                .diagnostic(&RULE.code, taint.span, message)
                .primary_label("the daemons have no tolerations")
                .label(pool.sharing_span, "each claim for a GPU starts one")
                .help("write `effect: NoSchedule`")
                .emit();
        }
    }
}
