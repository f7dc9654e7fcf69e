//! `runtimeImage` is set but gpuc-runtime is not used.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::{Allocation, DevicePlugin};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;
use super::queries::unused_settings;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2038",
        name: "runtime-image-unused",
        severity: Severity::Warning,
        summary: "`runtimeImage` is set but gpuc-runtime is not used",
        checks: "Whether at least one pool with GPUs has `devicePlugin: gpuc` if `runtimeImage` is set.",
        reason: "Readers of the configuration may assume that gpuc-runtime runs there.",
        remedy: "Remove the key, or set `devicePlugin: gpuc`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("devicePlugin: nvidia", "devicePlugin: gpuc"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let runs = |pool: &Pool| pool.is_advertised_by(DevicePlugin::Gpuc);
    for unused in unused_settings(cluster, |stack| stack.runtime_image.as_ref(), runs) {
        let message = "`runtimeImage` has no effect: gpuc-runtime is not used here";
        let builder = report.diagnostic(&RULE.code, unused.written.span, message);
        let builder = match unused.pool.allocation.value {
            Allocation::Dra => builder.label(
                unused.pool.allocation.span,
                "the GPUs are allocated through DRA",
            ),
            Allocation::DevicePlugin => {
                let plugin = format!("`{}` advertises the GPUs", keyword(&unused.pool.plugin));
                builder.label(unused.pool.plugin.span, plugin)
            }
        };
        builder
            .help("remove `runtimeImage`, or set `devicePlugin: gpuc`")
            .emit();
    }
}
