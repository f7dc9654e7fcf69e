//! A taint is managed by the control plane or by gpuc.

use gpuc_schema::node_config::STARTUP_TAINT;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2061",
        name: "taint-reserved",
        severity: Severity::Error,
        summary: "a taint is managed by the control plane or by gpuc",
        checks: "Whether a pool's taints use keys by which the control plane marks the state of a node, such as
`node.kubernetes.io/not-ready` and `node.kubernetes.io/unschedulable`. Whether they use the key by
which gpuc marks a node whose GPUs are not partitioned yet,
`startup-taint.cluster-autoscaler.kubernetes.io/gpuc`.",
        reason: "Such a taint is removed as soon as the node is ready, so that it does not keep pods off the pool.
Until then, DaemonSet pods, which tolerate it, still run.",
        remedy: "Choose your own key. To reserve a pool, set `dedicatedTo`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]
"#,
        correction: Correction::Replace("node.kubernetes.io/unschedulable", "example.com/research"),
    },
    run,
};

/// Taints of the node lifecycle and of cloud controllers:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>, read 2026-11-21.
const RESERVED_KEYS: &[&str] = &[
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
];

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for taint in &pool.user_taints {
            let key = &taint.value.key;
            let manager = match key.as_str() {
                STARTUP_TAINT => "gpuc",
                key if RESERVED_KEYS.contains(&key) => "the control plane",
                _ => continue,
            };
            let message = format!("the taint `{key}` is managed by {manager}");
            report
                .diagnostic(&RULE.code, key.span, message)
                .help("choose your own key, or set `dedicatedTo`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_managed_taints_are_found() {
        let found = messages_with_id(
            "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - name: a
                hosts: [a]
                nodes: {count: 1}
                taints:
                  - {key: node.kubernetes.io/not-ready, effect: NoExecute}
                  - {key: startup-taint.cluster-autoscaler.kubernetes.io/gpuc, effect: NoSchedule}
                  - {key: startup-taint.cluster-autoscaler.kubernetes.io/mine, effect: NoSchedule}
                  - {key: node-role.kubernetes.io/control-plane, effect: NoSchedule}
                  - {key: node.kubernetes.io/gpu, effect: NoSchedule}
            ",
            "GPUC2061",
        );
        assert_eq!(
            found,
            [
                "the taint `node.kubernetes.io/not-ready` is managed by the control plane",
                "the taint `startup-taint.cluster-autoscaler.kubernetes.io/gpuc` is managed by gpuc",
            ]
        );
    }
}
