//! gpuc-runtime is to measure GPUs of a pool that it does not serve.

use gpuc_schema::config::{Allocation, DevicePlugin, Exporter};

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// gpuc-runtime is to measure GPUs of a pool that it does not serve.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2070",
        name: "exporter-without-runtime",
        severity: Severity::Error,
        summary: "gpuc-runtime is to measure GPUs of a pool that it does not serve",
        explain: "### What it checks

Whether every pool with GPUs has `devicePlugin: gpuc`, and none `allocation: dra`, where
`monitoring.exporter` is `gpuc`.

### Why it matters

gpuc-runtime measures the GPUs of the nodes that it runs on, and runs where it advertises them. The
GPUs of another pool would be measured by nobody, and its alerts would never fire.

### What to do

Write `exporter: dcgm`, which runs beside any plugin, or `devicePlugin: gpuc` for the pool.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
monitoring:
  exporter: dcgm
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.written.monitoring else {
        return;
    };
    let exporter = &monitoring.exporter;
    if exporter.value != Exporter::Gpuc {
        return;
    }
    let mut others = cluster
        .gpu_pools()
        .map(|(pool, _)| pool)
        .filter(|pool| !pool.is_advertised_by(DevicePlugin::Gpuc));
    let Some(pool) = others.next() else {
        return;
    };
    let message = format!("gpuc-runtime does not run on pool `{}`", pool.name);
    let draft = report.draft(&RULE.code, exporter.span, message);
    let (place, label, help) = match pool.allocation.value {
        Allocation::Dra => (
            pool.allocation.span,
            "pods claim its GPUs, and NVIDIA's driver for claims serves them".to_owned(),
            "write `exporter: dcgm`",
        ),
        Allocation::DevicePlugin => (
            pool.plugin.span,
            format!("`{}` advertises its GPUs", word(&pool.plugin)),
            "write `exporter: dcgm`, or `devicePlugin: gpuc` for the pool",
        ),
    };
    let place = if place.is_written() {
        place
    } else {
        pool.name.span
    };
    draft.label(place, label).help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn it_does_not_run_where_pods_claim() {
        let of = |stack: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{{stack}}}
                monitoring: {{exporter: gpuc, prometheus: {{install: {{}}}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                "
            );
            messages(&yaml, "GPUC2070").len()
        };
        assert_eq!(of("allocation: dra"), 1);
        assert_eq!(of("runtimeImage: 'r.example.com/gpuc-runtime:0.1.0'"), 0);
    }
}
