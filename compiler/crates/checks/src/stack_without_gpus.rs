//! `stack` is set on a pool without GPUs.

use gpuc_schema::config::Stack;
use gpuc_schema::{Span, Spanned};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2046",
        name: "stack-without-gpus",
        severity: Severity::Error,
        summary: "`stack` is set on a pool without GPUs",
        checks: "Whether a pool with a `stack` has GPUs.",
        reason: "There is no driver to install and there are no GPUs to advertise. The keys have no effect.",
        remedy: "Remove `stack` from the pool, or correct its machine type.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace(
            "    stack: {driver: preinstalled}
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if !matches!(pool.gpus.get(), Some(None)) {
            continue;
        }
        let Some(span) = first_key_span(&cluster.pool_in_file(pool).stack) else {
            continue;
        };
        let message = format!("`stack` has no effect: pool `{}` has no GPUs", pool.name);
        let builder = report.diagnostic(&RULE.code, span, message);
        let builder = match &pool.machine_name {
            Some(machine) => builder.label(machine.span, "this machine type has no GPUs"),
            None => builder,
        };
        builder.help("remove `stack` from this pool").emit();
    }
}

/// The location of the first setting in a `stack`.
fn first_key_span(stack: &Stack) -> Option<Span> {
    let extras = stack.extras.iter().flatten();
    let first_extra = extras.map(|extra| extra.span).next();
    let text = |written: &Option<Spanned<String>>| written.as_ref().map(|text| text.span);
    (stack.driver.map(|driver| driver.span))
        .or(stack.allocation.map(|allocation| allocation.span))
        .or(stack.extended_resources.map(|it| it.span))
        .or(stack.device_plugin.map(|plugin| plugin.span))
        .or(text(&stack.driver_version))
        .or(text(&stack.runtime_image))
        .or(text(&stack.driver_image))
        .or(stack.node_labels.map(|labels| labels.span))
        .or(first_extra)
}
