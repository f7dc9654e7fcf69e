//! Replicas of GPUs are configured for a pool with `allocation: dra`.
//!
//! Source: kubernetes-sigs/dra-driver-nvidia-gpu `pkg/featuregates/featuregates.go` (`TimeSlicingSettings`: alpha, off)
//! and `api/nvidia.com/resource/v1beta1/sharing.go` (`TimeSlicingConfig` has `interval` alone), read 2026-11-21.

use gpuc_schema::config::Sharing;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

/// Replicas of GPUs are configured for a pool with `allocation: dra`.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2115",
        name: "dra-replicas-unsupported",
        severity: Severity::Error,
        summary: "replicas are counted or renamed in a pool with `allocation: dra`",
        checks: "Whether a pool with `allocation: dra` has `sharing.timeSlicing`, or `rename` in `sharing.mps`.",
        reason: "A device plugin advertises a number of replicas under a resource name. A ResourceClaim is for a full
GPU, and pods that share the GPU reference the same claim: there is no number to set and no name to
change. Containers that share a claim are time-sliced without any setting. With `mps`, `replicas`
still determines the part of a GPU that each client gets.

The NVIDIA DRA driver also has `TimeSlicing` in the configuration of a claim, behind the alpha
feature gate `TimeSlicingSettings`. Its only setting is the interval, the length of a time slice. It
has no setting for the number of clients, so `replicas` would have no effect.",
        remedy: "Write `sharing: none` and let pods share a claim; or use `mps`; or write `allocation: devicePlugin`.",
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
    sharing: {timeSlicing: {replicas: 4}}
"#,
        correction: Correction::Replace("timeSlicing:", "mps:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.dra_pools() {
        let (span, message, help) = match &cluster.pool_in_file(pool).sharing.value {
            Sharing::TimeSlicing(slicing) => (
                slicing.replicas.span,
                format!(
                    "time-slicing replicas are not supported with DRA in pool `{}`",
                    pool.name
                ),
                "write `sharing: none`: containers that share a claim are time-sliced; or write \
                 `allocation: devicePlugin` in the pool's `stack`",
            ),
            Sharing::Mps(mps) if mps.rename.value => (
                mps.rename.span,
                format!("`rename` is not supported with DRA in pool `{}`", pool.name),
                "remove `rename`",
            ),
            Sharing::None | Sharing::Mps(_) | Sharing::Mig(_) => continue,
        };
        report
            .diagnostic(&RULE.code, span, message)
            .label(pool.allocation.span, "the GPUs are allocated through DRA")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn rename_is_not_supported() {
        let pool = |sharing: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{allocation: dra}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, sharing: {sharing}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2115").len()
        };
        assert_eq!(pool("{mps: {replicas: 4, rename: true}}"), 1);
        assert_eq!(pool("{mps: {replicas: 4, rename: false}}"), 0);
    }
}
