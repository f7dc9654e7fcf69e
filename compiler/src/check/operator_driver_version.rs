//! A driver version that names no driver container.

use gpuc_schema::config::DriverOwner;
use gpuc_schema::gpu::cuda::DriverVersion;

use super::Rule;
use super::places::Once;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A driver version that names no driver container.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2092",
        name: "operator-driver-version",
        severity: Severity::Error,
        summary: "a driver version names no driver container of NVIDIA's",
        explain: "### What it checks

Whether `driverVersion` is a whole version, such as `595.91.07`, where the driver comes by the
GPU Operator.

### Why it matters

The operator pulls an image that is called by the whole version. A branch or a word names none,
and the driver never comes.

### What to do

Write a whole version that NVIDIA has a driver container of, or leave `driverVersion` out: gpuc
takes the newest that knows the pool's card.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator, driverVersion: "595"}
nodePools:
  - {name: gpu, gpu: {model: L4, perNode: 1}, hosts: [node-1], nodes: {count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator, driverVersion: "595.91.07"}
nodePools:
  - {name: gpu, gpu: {model: L4, perNode: 1}, hosts: [node-1], nodes: {count: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let words = cluster.cloud.facts().driver_words;
    let mut once = Once::default();
    for (pool, _) in cluster.gpu_pools() {
        let Some(version) = &pool.driver_version else {
            continue;
        };
        // What is neither a version nor a word of the cloud's is told of by a rule of its own.
        let is_word = words.contains(&version.as_str());
        let names = match DriverVersion::parse(version) {
            Some(_) => version.split('.').count() == 3,
            None => !is_word,
        };
        if names || pool.driver.value != DriverOwner::Operator || !once.is_new(version.span) {
            continue;
        }
        let message = format!("there is no driver container of version `{version}`");
        report
            .draft(&RULE.code, version.span, message)
            .label(pool.driver.span, "the GPU Operator pulls one")
            .help("write a whole version such as \"595.91.07\", or remove `driverVersion`")
            .emit();
    }
}
