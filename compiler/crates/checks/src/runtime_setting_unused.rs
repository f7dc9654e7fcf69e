//! A setting of gpuc-runtime is set but gpuc-runtime is not used.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;
use super::queries::unused_settings;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2065",
        name: "runtime-setting-unused",
        severity: Severity::Error,
        summary: "a setting of gpuc-runtime is set but gpuc-runtime is not used",
        checks: r"Whether gpuc-runtime advertises the GPUs of each pool that sets `placement` in `sharing`. Whether it
advertises the GPUs of at least one pool if `stack` sets `nodeLabels`.",
        reason: r"Other device plugins choose GPUs and label nodes in their own way, so that the keys would have no
effect.",
        remedy: r"Remove the key, or set `devicePlugin: gpuc`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, placement: packed}}
"#,
        correction: Correction::Replace(
            "devicePlugin: nvidia",
            r#"devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#,
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let runs = |pool: &Pool| pool.is_advertised_by(DevicePlugin::Gpuc);
    for (pool, _) in cluster.gpu_pools().filter(|(pool, _)| !runs(pool)) {
        if let Some(placement) = pool.sharing_placement {
            report_unused(pool, "placement", placement.span, report);
        }
    }
    for unused in unused_settings(cluster, |stack| stack.node_labels.as_ref(), runs) {
        report_unused(unused.pool, "nodeLabels", unused.written.span, report);
    }
}

fn report_unused(pool: &Pool, key: &str, span: Span, report: &mut Report) {
    let message = format!("`{key}` has no effect: gpuc-runtime is not used here");
    let plugin = format!("`{}` advertises the GPUs", keyword(&pool.plugin));
    report
        .diagnostic(&RULE.code, span, message)
        .label(pool.plugin.span, plugin)
        .help(format!(
            "remove `{key}`, or write `devicePlugin: gpuc` in the pool's `stack`"
        ))
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn cluster_setting_is_unused_without_gpuc_runtime() {
        let found = |plugin: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{devicePlugin: nvidia, nodeLabels: none}}
                nodePools:
                  - name: a
                    gpu: {{model: L4, perNode: 1}}
                    hosts: [a]
                    nodes: {{count: 1}}
                    sharing: {{mps: {{replicas: 4, placement: distributed}}}}
                  - {{name: b, gpu: {{model: L4, perNode: 1}}, hosts: [b], nodes: {{count: 1}}, stack: {{devicePlugin: {plugin}}}}}
                "
            );
            messages_with_id(&yaml, "GPUC2065")
        };
        let placement = "`placement` has no effect: gpuc-runtime is not used here";
        assert_eq!(
            found("nvidia"),
            [
                placement,
                "`nodeLabels` has no effect: gpuc-runtime is not used here"
            ]
        );
        assert_eq!(found("gpuc"), [placement]);
    }
}
