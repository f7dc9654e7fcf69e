//! Gpuc-runtime has no image.

use gpuc_schema::config::DevicePlugin;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// Gpuc-runtime has no image.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2025",
        name: "runtime-image-missing",
        severity: Severity::Error,
        summary: "gpuc-runtime has no image",
        explain: "### What it checks

Whether `stack.runtimeImage` is set where `devicePlugin` is `gpuc` (the default) for a pool with
GPUs.

### Why it matters

gpuc-runtime comes from a registry of yours, and a made-up name would be pulled from somebody
else's.

### What to do

Write the image with its tag or digest, for the cluster or for the pool; or choose another
`devicePlugin`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
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
"#,
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
    let place = if written {
        first.plugin.span
    } else {
        first.name.span
    };
    let message = format!("pool `{}` needs an image of gpuc-runtime", first.name);
    let mut draft = report.draft(&RULE.code, place, message);
    draft = draft.here("gpuc-runtime advertises its GPUs");
    for pool in pools {
        draft = draft.label(pool.name.span, "this pool too");
    }
    let help =
        "add `runtimeImage: registry.example.com/gpuc-runtime:0.1.0` with your registry to `stack`";
    draft.help(help).emit();
}
