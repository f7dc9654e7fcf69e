//! `exporter: gpuc` is set, but gpuc-runtime does not run on a pool with GPUs.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Allocation, DevicePlugin, Exporter};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2070",
        name: "exporter-without-runtime",
        severity: Severity::Error,
        summary: "`exporter: gpuc` is set, but gpuc-runtime does not run on a pool with GPUs",
        checks: "Whether every pool with GPUs has `devicePlugin: gpuc`, and none has `allocation: dra`, if
`monitoring.exporter` is `gpuc`.",
        reason: "gpuc-runtime measures the GPUs of the nodes that it runs on, and runs where it advertises them. The
GPUs of another pool would not be measured, and their alerts would never fire.",
        remedy: "Write `exporter: dcgm`, which runs next to any device plugin, or `devicePlugin: gpuc` for the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
monitoring:
  exporter: gpuc
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("exporter: gpuc", "exporter: dcgm"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.config.monitoring else {
        return;
    };
    let exporter = &monitoring.exporter;
    if exporter.value != Exporter::Gpuc {
        return;
    }
    let unmeasured = cluster
        .gpu_pools()
        .map(|(pool, _)| pool)
        .find(|pool| !pool.is_advertised_by(DevicePlugin::Gpuc));
    let Some(pool) = unmeasured else {
        return;
    };
    let message = format!("gpuc-runtime does not run on pool `{}`", pool.name);
    let builder = report.diagnostic(&RULE.code, exporter.span, message);
    let (span, label, help) = match pool.allocation.value {
        Allocation::Dra => (
            pool.allocation.span,
            "its GPUs are allocated through DRA".to_owned(),
            "write `exporter: dcgm`",
        ),
        Allocation::DevicePlugin => (
            pool.plugin.span,
            format!("`{}` advertises its GPUs", keyword(&pool.plugin)),
            "write `exporter: dcgm`, or `devicePlugin: gpuc` for the pool",
        ),
    };
    let span = if span.is_written() {
        span
    } else {
        pool.name.span
    };
    builder.label(span, label).help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn dra_pools_are_reported() {
        let count = |stack: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{{stack}}}
                monitoring: {{exporter: gpuc, prometheus: {{install: {{}}}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2070").len()
        };
        assert_eq!(count("allocation: dra"), 1);
        assert_eq!(count("runtimeImage: 'r.example.com/gpuc-runtime:0.1.0'"), 0);
    }
}
