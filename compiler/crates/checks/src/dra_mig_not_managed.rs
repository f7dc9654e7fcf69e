//! No component creates the MIG devices of a pool with `allocation: dra`.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2112",
        name: "dra-mig-not-managed",
        severity: Severity::Error,
        summary: "no component creates the MIG devices of a pool with `allocation: dra`",
        checks: "Whether a component creates the MIG devices of a pool with `sharing.mig` and `allocation: dra`. Some
clouds do when they create the nodes. gpuc-runtime, which creates MIG devices elsewhere, runs only
where a device plugin does. Existing pools are not checked.",
        reason: "The DRA driver publishes the MIG devices that it finds when it starts. It would find none, and pods
with claims for them would stay pending. Its own support for creating MIG devices is alpha
(`DynamicMIG`, off by default, not on the A100), and accepts no MIG geometry.",
        remedy: "Write `allocation: devicePlugin` with `devicePlugin: gpuc`, or remove `sharing.mig`.",
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
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
        correction: Correction::Replace("allocation: dra", r#"devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#),
    },
    run,
};

/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `pkg/featuregates/featuregates.go`, read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.dra_pools() {
        let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
        if !is_mig || pool.is_existing() || cluster.cloud.partitions_gpus(pool) {
            continue;
        }
        let message = format!(
            "no component creates the MIG devices of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .label(
                pool.allocation.span,
                "the DRA driver publishes MIG devices, but does not create them",
            )
            .help("write `allocation: devicePlugin` and `devicePlugin: gpuc` in the pool's `stack`")
            .emit();
    }
}
