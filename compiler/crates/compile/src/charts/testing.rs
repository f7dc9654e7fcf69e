//! Helpers for the tests of charts.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;
use serde_json::Value;

use gpuc_model::Registry;
use gpuc_model::check::{Checked, check};
use gpuc_model::resolve::{Choices, resolve};
use gpuc_syntax::diag::{Code, Report};

/// Every cloud and rule, for tests.
pub(crate) static REGISTRY: Registry = Registry {
    clouds: gpuc_clouds::CLOUDS,
    rules: gpuc_checks::RULES,
    codes,
};

/// The codes of resolution and of every rule.
pub(crate) fn codes() -> Vec<&'static Code> {
    REGISTRY.codes_of_rules()
}

/// Runs a closure on an on-premises cluster with DRA: a pool `system` without GPUs, and a pool `gpu` with these keys.
#[track_caller]
pub(crate) fn with_checked_pool<T>(pool: &str, make: impl Fn(Checked<'_>) -> T) -> T {
    let hosts = if pool.contains("existing:") {
        ""
    } else {
        "hosts: [gpu-1], "
    };
    let yaml = format!(
        "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, \
         kubernetes: {{version: '1.36'}}, cloud: {{onPrem: {{context: demo}}}}, nodePools: [\
         {{name: system, hosts: [cpu-1], nodes: {{count: 1}}}}, \
         {{name: gpu, {hosts}nodes: {{count: 1}}, stack: {{allocation: dra}}, {pool}}}]}}"
    );
    with_checked_file(&yaml, make)
}

/// Runs a closure on the cluster of a file.
#[track_caller]
pub(crate) fn with_checked_file<T>(yaml: &str, make: impl Fn(Checked<'_>) -> T) -> T {
    // Through JSON: this YAML reader has tags of its own for enums, where the file has mappings.
    let json: Value = serde_yaml::from_str(yaml).expect("the test's YAML");
    let config: GpuCluster = serde_json::from_value(json).expect("the test's file");
    let mut report = Report::default();
    let cluster = resolve(
        Arc::new(config),
        &crate::charts::testing::REGISTRY,
        &Choices::default(),
        &mut report,
    );
    let Some(checked) = check(&cluster, &mut report) else {
        panic!("{:?}", report.diagnostics());
    };
    make(checked)
}
