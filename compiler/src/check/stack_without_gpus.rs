//! A pool without GPUs has a stack of its own.

use gpuc_schema::config::Stack;
use gpuc_schema::{Span, Spanned};

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool without GPUs has a stack of its own.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2046",
        name: "stack-without-gpus",
        severity: Severity::Error,
        summary: "a pool without GPUs has a stack of its own",
        explain: "### What it checks

Whether a pool with a `stack` has GPUs.

### Why it matters

There is no driver to install and nothing to advertise: the keys would be accepted and ignored.

### What to do

Remove `stack` from the pool, or correct its machine type.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
  - name: system
    machine: m7i.xlarge
    nodes: {count: 1}
    stack: {driver: preinstalled}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
  - name: system
    machine: m7i.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if !matches!(pool.gpus.get(), Some(None)) {
            continue;
        }
        let Some(span) = first_key(&pool.written.stack) else {
            continue;
        };
        let message = format!(
            "pool `{}` has no GPUs to install or advertise anything for",
            pool.name
        );
        let draft = report.draft(&RULE.code, span, message);
        let draft = match &pool.written.machine {
            Some(machine) => draft.label(machine.span, "this machine has no GPUs"),
            None => draft,
        };
        draft.help("remove `stack` from this pool").emit();
    }
}

/// The place of the first thing that a stack says.
fn first_key(stack: &Stack) -> Option<Span> {
    let extras = stack.extras.iter().flatten();
    let first_extra = extras.map(|extra| extra.span).next();
    let text = |written: &Option<Spanned<String>>| written.as_ref().map(|text| text.span);
    (stack.driver.map(|driver| driver.span))
        .or(stack.allocation.map(|allocation| allocation.span))
        .or(stack.device_plugin.map(|plugin| plugin.span))
        .or(text(&stack.driver_version))
        .or(text(&stack.runtime_image))
        .or(text(&stack.driver_image))
        .or(stack.node_labels.map(|labels| labels.span))
        .or(first_extra)
}
