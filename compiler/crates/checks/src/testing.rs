//! Helpers for the tests of rules.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;

use gpuc_model::Registry;
use gpuc_model::resolve::{Choices, resolve};
use gpuc_syntax::decode;
use gpuc_syntax::diag::{Code, Report};
use gpuc_syntax::load::{MemoryFiles, load};
use gpuc_syntax::source::Sources;

use gpuc_model::check::check;

/// Every cloud and rule, for tests.
pub(crate) static REGISTRY: Registry = Registry {
    clouds: gpuc_clouds::CLOUDS,
    rules: crate::RULES,
    codes,
};

/// The codes of resolution and of every rule.
pub(crate) fn codes() -> Vec<&'static Code> {
    REGISTRY.codes_of_rules()
}

/// Builds a configuration from indented YAML without the common head.
#[track_caller]
pub(super) fn parse_config(yaml: &str) -> Arc<GpuCluster> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = yaml.lines().filter(|line| !line.trim().is_empty());
    let min_indent = lines.clone().map(indent).min().unwrap_or_default();
    let body: Vec<_> = lines.map(|line| &line[min_indent..]).collect();
    let body = body.join("\n");
    let head = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\n\
                kubernetes: {version: \"1.36\"}\n";
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let world = MemoryFiles::with_file("a.yaml", &format!("{head}{body}\n"));
    let loaded = load(&world, "a.yaml", &mut sources, &mut report);
    let config = decode::decode_cluster(&loaded[0].root, &mut report).expect("a cluster");
    Arc::new(config)
}

/// The messages of one code for a configuration.
#[track_caller]
pub(super) fn messages_with_id(yaml: &str, id: &str) -> Vec<String> {
    let mut report = Report::default();
    let cluster = resolve(
        parse_config(yaml),
        &crate::testing::REGISTRY,
        &Choices::default(),
        &mut report,
    );
    check(&cluster, &mut report);
    let found = report.diagnostics().iter().filter(|it| it.code.id == id);
    found.map(|it| it.message.clone()).collect()
}

/// Compares the messages of one code with the expected ones. `rest` replaces `<rest>` in the file.
#[track_caller]
pub(super) fn check_in(file: &str, id: &str, rest: &str, expected: &[&str]) {
    let yaml = file.replace("<rest>", rest);
    assert_eq!(messages_with_id(&yaml, id), expected, "{rest}");
}

/// A file with three pools. `<rest>` are its other keys.
pub(super) const TEAMS: &str = "
cloud: {onPrem: {context: demo}}
nodePools:
  - {name: train, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}
  - {name: infer, gpu: {model: L4, perNode: 4}, hosts: [b], nodes: {count: 1}}
  - {name: turns, gpu: {model: L4, perNode: 1}, hosts: [c], nodes: {count: 1}, sharing: {timeSlicing: {replicas: 4, rename: true}}}
<rest>
";

/// A file with one pool and the workloads `<rest>`.
pub(super) const WORKLOADS: &str = "
cloud: {onPrem: {context: demo}}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
workloads: [<rest>]
";

/// A file with one pool of one node and one workload, which has the keys `<rest>`.
pub(super) const TASK: &str = "
cloud: {onPrem: {context: demo}}
nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
workloads: [{name: a, <rest>}]
";
