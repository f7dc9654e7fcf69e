//! The device plugin is not available on this cloud.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Allocation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, one_of_help};
use super::queries::ReportedSpans;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2029",
        name: "plugin-unavailable",
        severity: Severity::Error,
        summary: "the device plugin is not available on this cloud",
        checks: "Whether `stack.devicePlugin` can run on the cloud's nodes.",
        reason: "Without a device plugin the nodes advertise no GPUs, and pods that request GPUs stay pending
indefinitely.",
        remedy: "Write one of the values in the help, or remove the key to use gpuc-runtime.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("devicePlugin: cloud", "devicePlugin: nvidia"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let mut reported = ReportedSpans::default();
    for (pool, _) in cluster.gpu_pools() {
        let plugin = pool.plugin;
        // With DRA, no device plugin runs.
        if pool.allocation.value == Allocation::Dra {
            continue;
        }
        if facts.plugins.contains(&plugin.value) || !reported.insert(plugin.span) {
            continue;
        }
        let message = format!(
            "the device plugin `{}` is not available on {}",
            keyword(&plugin),
            facts.name
        );
        report
            .diagnostic(&RULE.code, plugin.span, message)
            .help(one_of_help(facts.plugins))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn claims_need_no_plugin() {
        let file = |allocation: &str| {
            format!("
cloud: {{existing: {{provider: talos}}}}
nodePools:
  - {{name: gpu, gpu: {{model: A30, perNode: 2}}, nodes: {{count: 1}}, existing: {{selector: {{a: b}}}}, stack: {{{allocation}}}}}
")
        };
        assert_eq!(
            messages_with_id(&file("allocation: dra"), "GPUC2029"),
            [""; 0]
        );
        let found = messages_with_id(&file("devicePlugin: gpuc"), "GPUC2029");
        assert_eq!(
            found,
            ["the device plugin `gpuc` is not available on Talos Linux"]
        );
    }
}
