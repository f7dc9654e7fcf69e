//! A taint is one that the control plane or gpuc sets and takes away itself.

use gpuc_schema::node_config::STARTUP_TAINT;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A taint is one that the control plane or gpuc sets and takes away itself.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2061",
        name: "taint-reserved",
        severity: Severity::Error,
        summary: "a taint is one that the control plane or gpuc sets and takes away itself",
        explain: "### What it checks

Whether a pool's taints leave alone those by which the control plane says how a node is, such as
`node.kubernetes.io/not-ready` and `node.kubernetes.io/unschedulable`, and the one by which gpuc
says that a node's GPUs are not cut yet, `startup-taint.cluster-autoscaler.kubernetes.io/gpuc`.

### Why it matters

Such a taint is taken away as soon as the node is well, so that it keeps nobody off
the pool; until then, pods that every DaemonSet of Kubernetes tolerates run all the same.

### What to do

Choose a key of your own. To keep everybody but some off a pool, write `dedicatedTo`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    taints: [{key: example.com/research, effect: NoSchedule}]
"#,
    },
    run,
};

/// Taints of the node lifecycle and of cloud controllers:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>, read 2026-11-21.
const RESERVED: &[&str] = &[
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
        for taint in &pool.written.taints {
            let key = &taint.value.key;
            let whose = match key.as_str() {
                STARTUP_TAINT => "gpuc's",
                key if RESERVED.contains(&key) => "the control plane's",
                _ => continue,
            };
            let message = format!("the taint `{key}` is {whose} own");
            let draft = report.draft(&RULE.code, key.span, message);
            draft
                .help("choose a key of your own, or write `dedicatedTo`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn what_others_may_set_is_no_finding() {
        let found = messages(
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
                "the taint `node.kubernetes.io/not-ready` is the control plane's own",
                "the taint `startup-taint.cluster-autoscaler.kubernetes.io/gpuc` is gpuc's own",
            ]
        );
    }
}
