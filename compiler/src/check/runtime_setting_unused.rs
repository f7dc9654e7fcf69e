//! A setting of gpuc-runtime's where it does not run.

use gpuc_schema::Span;
use gpuc_schema::config::DevicePlugin;

use super::Rule;
use super::places::unused;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// A setting of gpuc-runtime's where it does not run.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2065",
        name: "runtime-setting-unused",
        severity: Severity::Error,
        summary: "a setting of gpuc-runtime's is given and nothing reads it",
        explain: r"### What it checks

Whether gpuc-runtime advertises the GPUs wherever `sharing` has a `placement`, and of some pool
where `stack` has `nodeLabels`.

### Why it matters

Other device plugins choose GPUs and label nodes in their own way, so the keys would be accepted and
ignored.

### What to do

Remove the key, or write `devicePlugin: gpuc`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, placement: packed}}
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
    sharing: {timeSlicing: {replicas: 4, placement: packed}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let runs = |pool: &Pool| pool.is_advertised_by(DevicePlugin::Gpuc);
    for (pool, _) in cluster.gpu_pools().filter(|(pool, _)| !runs(pool)) {
        if let Some(placement) = pool.written.sharing.placement() {
            say(pool, "placement", placement.span, report);
        }
    }
    for unused in unused(cluster, |stack| stack.node_labels.as_ref(), runs) {
        say(unused.pool, "nodeLabels", unused.written.span, report);
    }
}

fn say(pool: &Pool, key: &str, span: Span, report: &mut Report) {
    let message = format!("nothing reads `{key}` here");
    let plugin = format!("`{}` advertises the GPUs", word(&pool.plugin));
    report
        .draft(&RULE.code, span, message)
        .label(pool.plugin.span, plugin)
        .help(format!("remove `{key}`, or write `devicePlugin: gpuc`"))
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn what_stands_for_all_is_unused_when_nobody_reads_it() {
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
            messages(&yaml, "GPUC2065")
        };
        let placement = "nothing reads `placement` here";
        assert_eq!(
            found("nvidia"),
            [placement, "nothing reads `nodeLabels` here"]
        );
        assert_eq!(found("gpuc"), [placement]);
    }
}
