//! Shares to be counted where GPUs are claimed.
//!
//! Source: kubernetes-sigs/dra-driver-nvidia-gpu `pkg/featuregates/featuregates.go` (`TimeSlicingSettings`: alpha, off)
//! and `api/nvidia.com/resource/v1beta1/sharing.go` (`TimeSlicingConfig` has `interval` alone), read 2026-11-21.

use gpuc_schema::config::Sharing;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Shares to be counted where GPUs are claimed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2115",
        name: "dra-shares-are-claims",
        severity: Severity::Error,
        summary: "shares are counted or named where GPUs are claimed",
        explain: "### What it checks

Whether a pool with `allocation: dra` has `sharing.timeSlicing`, or `rename` in `sharing.mps`.

### Why it matters

A device plugin counts shares and names them. A claim is for a whole GPU, and those who share one
name the same claim: there is no number to set, and no name to change. Containers that share a
claim take turns without any setting. With `mps`, `replicas` still says which part of a GPU each
client gets.

NVIDIA's driver for claims knows `TimeSlicing` as well, in the configuration of a claim and behind
the alpha feature gate `TimeSlicingSettings`. All that it takes is an interval, how long a turn is;
how many take turns is no setting there, so that nothing could be made of `replicas`.

### What to do

Write `sharing: none` and let pods share a claim; or `mps`; or `allocation: devicePlugin`.
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
    sharing: {timeSlicing: {replicas: 4}}
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
    sharing: {mps: {replicas: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_claimed() {
        let (span, message, help) = match &pool.written.sharing.value {
            Sharing::TimeSlicing(slicing) => (
                slicing.replicas.span,
                format!(
                    "the GPUs of pool `{}` are claimed, not counted in shares",
                    pool.name
                ),
                "write `sharing: none`: containers that name one claim take turns on its GPU; or \
                 `allocation: devicePlugin`",
            ),
            Sharing::Mps(mps) if mps.rename.value => (
                mps.rename.span,
                format!(
                    "the GPUs of pool `{}` are claimed by class, not by a resource's name",
                    pool.name
                ),
                "remove `rename`",
            ),
            Sharing::None | Sharing::Mps(_) | Sharing::Mig(_) => continue,
        };
        report
            .draft(&RULE.code, span, message)
            .label(pool.allocation.span, "pods claim the GPUs")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_name_for_shares_has_no_place() {
        let pool = |sharing: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{allocation: dra}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, sharing: {sharing}}}]
                "
            );
            messages(&yaml, "GPUC2115").len()
        };
        assert_eq!(pool("{mps: {replicas: 4, rename: true}}"), 1);
        assert_eq!(pool("{mps: {replicas: 4, rename: false}}"), 0);
    }
}
