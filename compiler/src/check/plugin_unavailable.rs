//! Nobody of this name advertises GPUs in this cloud.

use super::Rule;
use super::places::Once;
use super::words::{one_of, word};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nobody of this name advertises GPUs in this cloud.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2029",
        name: "plugin-unavailable",
        severity: Severity::Error,
        summary: "nobody of this name advertises GPUs in this cloud",
        explain: "### What it checks

Whether `stack.devicePlugin` is one that can run on the cloud's nodes.

### Why it matters

Without a device plugin the nodes offer no GPUs, and pods that ask for some wait for ever.

### What to do

Write one that the help lists, or leave the key out for gpuc-runtime.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let mut once = Once::default();
    for (pool, _) in cluster.gpu_pools() {
        let plugin = pool.plugin;
        if facts.plugins.contains(&plugin.value) || !once.is_new(plugin.span) {
            continue;
        }
        let message = format!(
            "`{}` cannot advertise GPUs on {}",
            word(&plugin),
            facts.name
        );
        let draft = report.draft(&RULE.code, plugin.span, message);
        draft.help(one_of(facts.plugins)).emit();
    }
}
