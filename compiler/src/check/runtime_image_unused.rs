//! An image of gpuc-runtime is given and nothing runs it.

use gpuc_schema::config::{Allocation, DevicePlugin};

use super::Rule;
use super::places::unused;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// An image of gpuc-runtime is given and nothing runs it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2038",
        name: "runtime-image-unused",
        severity: Severity::Warning,
        summary: "an image of gpuc-runtime is given and nothing runs it",
        explain: "### What it checks

Whether some pool with GPUs has `devicePlugin: gpuc` where `runtimeImage` is set.

### Why it matters

Somebody may believe that gpuc-runtime runs there.

### What to do

Remove the key, or write `devicePlugin: gpuc`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
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
stack: {devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let runs = |pool: &Pool| pool.is_advertised_by(DevicePlugin::Gpuc);
    for unused in unused(cluster, |stack| stack.runtime_image.as_ref(), runs) {
        let message = "nothing runs this image of gpuc-runtime";
        let draft = report.draft(&RULE.code, unused.written.span, message);
        let draft = match unused.pool.allocation.value {
            Allocation::Dra => draft.label(unused.pool.allocation.span, "pods claim the GPUs here"),
            Allocation::DevicePlugin => {
                let plugin = format!("`{}` advertises the GPUs", word(&unused.pool.plugin));
                draft.label(unused.pool.plugin.span, plugin)
            }
        };
        draft
            .help("remove `runtimeImage`, or write `devicePlugin: gpuc`")
            .emit();
    }
}
