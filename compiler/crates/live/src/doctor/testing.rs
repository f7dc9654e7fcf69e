//! Help for tests of checks.

use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_model::Registry;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Levels, Report, split_files};
use gpuc_syntax::load::{self, MemoryFiles};
use gpuc_syntax::source::Sources;

use super::{Diagnosis, diagnose};
use crate::read::read_files;

/// The clouds and rules; the same as those of the program, without the codes of its phases.
pub(crate) static REGISTRY: Registry = Registry {
    clouds: gpuc_clouds::CLOUDS,
    rules: gpuc_checks::RULES,
    codes: || REGISTRY.codes_of_rules(),
};

/// Compiles a configuration, which must be valid.
pub(crate) fn compile_cluster(text: &str) -> (Compilation, Sources) {
    let world = MemoryFiles::with_file("gpu-cluster.yaml", text);
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&world, &["gpu-cluster.yaml"], &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let mut loaded = loaded.into_iter();
    let compilation = compile(loaded.next().expect("one document"), &options);
    let reports = [&report, &compilation.report];
    let mut found = reports.iter().flat_map(|report| report.diagnostics());
    if let Some(found) = found.next() {
        panic!("{}: {}", found.code.id, found.message);
    }
    (compilation, sources)
}

/// The diagnosis of objects as YAML, in a cluster with this configuration, which may be empty; and as text.
pub(crate) fn diagnose_objects(configuration: &str, objects: &str) -> (Diagnosis, String) {
    let files = split_files(objects);
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let load = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found
            .map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(|| "not found".to_owned())
    };
    let (state, problems) = read_files(&paths, &load);
    assert_eq!(problems, []);
    if configuration.is_empty() {
        let diagnosis = diagnose(&state, None, &REGISTRY);
        let text = super::render::text(&diagnosis, &state, &Sources::default());
        return (diagnosis, text);
    }
    let (compilation, sources) = compile_cluster(configuration);
    let diagnosis = diagnose(&state, compilation.cluster.as_ref(), &REGISTRY);
    let text = super::render::text(&diagnosis, &state, &sources);
    (diagnosis, text)
}

/// The codes of the causes of objects, without a configuration, and the text.
pub(crate) fn codes(objects: &str) -> (Vec<&'static str>, String) {
    let (diagnosis, text) = diagnose_objects("", objects);
    let causes = diagnosis.causes.iter();
    (causes.map(|it| it.finding.code.id).collect(), text)
}

/// A list of objects.
pub(crate) fn list_objects<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    let items = items.join(",");
    format!(r#"{{"kind": "List", "apiVersion": "v1", "items": [{items}]}}"#)
}

/// A node `gpu-1` with two GPUs in the zone `a`, which reported at 12:00 of 2026-11-28.
pub(crate) const HEALTHY_NODE: &str = r#"{"kind": "Node", "apiVersion": "v1",
  "metadata": {"name": "gpu-1", "labels": {"topology.kubernetes.io/zone": "a"}},
  "status": {"capacity": {"nvidia.com/gpu": "2"}, "allocatable": {"pods": "9", "nvidia.com/gpu": "2"},
    "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}}"#;

/// An event of an object in the namespace `ml`, at this time of 2026-11-28.
pub(crate) fn event(kind: &str, name: &str, reason: &str, message: &str, time: &str) -> String {
    let message = serde_json::Value::from(message);
    format!(
        r#"{{"kind": "Event", "apiVersion": "v1",
          "metadata": {{"name": "{name}.{reason}.{time}", "namespace": "ml"}},
          "involvedObject": {{"kind": "{kind}", "namespace": "ml", "name": "{name}"}},
          "reason": "{reason}", "message": {message}, "lastTimestamp": "2026-11-28T{time}Z"}}"#
    )
}

/// A pending pod `ml/train-0` that requests one unit of a resource, created at this time of 2026-11-28.
pub(crate) fn pending_pod(resource: &str, time: &str) -> String {
    format!(
        r#"{{"kind": "Pod", "apiVersion": "v1",
          "metadata": {{"name": "train-0", "namespace": "ml", "creationTimestamp": "2026-11-28T{time}Z"}},
          "spec": {{"containers": [{{"name": "main", "resources": {{"limits": {{"{resource}": "1"}}}}}}]}},
          "status": {{"phase": "Pending"}}}}"#
    )
}
