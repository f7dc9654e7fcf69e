//! Test clusters.

use serde_json::{Value, json};

use gpuc_model::check::check;
use gpuc_model::plan::{Argument, Command, Provisioning, Resource};

pub(super) use crate::testing::resolved;

/// A cluster in `us-central1-a`, with a system pool and the given pools.
pub(super) fn cluster(pools: &[Value]) -> Value {
    let system = json!({"name": "system", "machine": "e2-standard-4", "nodes": {"count": 1}});
    let pools: Vec<_> = std::iter::once(&system).chain(pools).cloned().collect();
    json!({
        "apiVersion": "gpuc.dev/v1alpha1",
        "kind": "GpuCluster",
        "metadata": {"name": "demo"},
        "kubernetes": {"version": "1.36"},
        "cloud": {"gcp": {
            "project": "acme-ml-prod",
            "location": "us-central1-a",
            "cluster": {"create": {}},
        }},
        "stack": {"runtimeImage": "registry.example.com/gpuc-runtime:0.1.0"},
        "nodePools": pools,
    })
}

/// Provisioning of a configuration without errors.
pub(super) fn provision_config(config: Value) -> Provisioning {
    let (cluster, mut report) = resolved(config);
    let checked =
        check(&cluster, &mut report).unwrap_or_else(|| panic!("{:#?}", report.diagnostics()));
    cluster.cloud.provision(&checked)
}

/// The messages of a configuration's diagnostics with a code.
pub(super) fn messages_with_id(config: Value, id: &str) -> Vec<String> {
    let (cluster, mut report) = resolved(config);
    check(&cluster, &mut report);
    let found = report.diagnostics().iter();
    found
        .filter(|found| found.code.id == id)
        .map(|found| found.message.clone())
        .collect()
}

/// The resource that a script creates.
pub(super) fn resource_of<'p>(provisioning: &'p Provisioning, script: &str) -> &'p Resource {
    let mut resources = provisioning.resources.iter();
    resources
        .find(|resource| resource.script == script)
        .expect("a resource")
}

/// A command on one line, with programs in braces.
pub(super) fn command_line(command: &Command) -> String {
    let words = command.0.iter().map(|word| match word {
        Argument::Text(text) => text.clone(),
        Argument::Observed(program)
        | Argument::ObservedOptional(program)
        | Argument::ObservedList(program) => {
            format!("{{{program}}}")
        }
        Argument::CloudFile(file) => format!("cloud/{file}"),
        Argument::UpdateId => unreachable!("gcloud waits for its updates"),
    });
    words.collect::<Vec<_>>().join(" ")
}
