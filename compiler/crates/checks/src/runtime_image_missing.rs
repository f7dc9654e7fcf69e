//! The image of gpuc-runtime is not set.

use gpuc_schema::config::DevicePlugin;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2025",
        name: "runtime-image-missing",
        severity: Severity::Error,
        summary: "the image of gpuc-runtime is not set",
        checks: "Whether `stack.runtimeImage` is set if `devicePlugin` is `gpuc` (the default) for a pool with GPUs.",
        reason: "gpuc-runtime is pulled from your own registry. A default name could belong to a third party.",
        remedy: "Set the image with its tag or digest, for the cluster or for the pool. Or choose another
`devicePlugin`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("nodePools:", r#"stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let lacks = |pool: &&Pool| pool.runtime_image.is_none();
    let mut pools = cluster
        .pools_advertised_by(DevicePlugin::Gpuc)
        .filter(lacks);
    let Some(first) = pools.next() else {
        return;
    };
    let written = first.plugin.span.is_written();
    let primary = if written {
        first.plugin.span
    } else {
        first.name.span
    };
    let message = format!(
        "`runtimeImage` is not set, and pool `{}` needs it",
        first.name
    );
    let mut builder = report.diagnostic(&RULE.code, primary, message);
    builder = builder.primary_label("gpuc-runtime advertises the pool's GPUs");
    for pool in pools {
        builder = builder.label(pool.name.span, "this pool needs it too");
    }
    let help = "add `runtimeImage: registry.example.com/gpuc-runtime:0.1.0` to `stack`, with your registry";
    builder.help(help).emit();
}
