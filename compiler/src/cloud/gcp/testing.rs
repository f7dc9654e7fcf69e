//! Whole clusters for the tests of this folder.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;
use serde_json::{Value, json};

use crate::check::check;
use crate::diag::Report;
use crate::model::Cluster;
use crate::plan::{Command, Provisioning, Resource, Word};
use crate::resolve::{Choices, resolve};

/// A cluster in `us-central1-a`, with a system pool and these pools.
pub(super) fn cluster(pools: &[Value]) -> Value {
    let system = json!({"name": "system", "machine": "e2-standard-4", "nodes": {"count": 1}});
    let pools: Vec<_> = std::iter::once(&system).chain(pools).cloned().collect();
    json!({
        "apiVersion": "gpuc.dev/v1alpha1",
        "kind": "GpuCluster",
        "metadata": {"name": "demo"},
        "kubernetes": {"version": "1.34"},
        "cloud": {"gcp": {
            "project": "acme-ml-prod",
            "location": "us-central1-a",
            "cluster": {"create": {}},
        }},
        "stack": {"runtimeImage": "registry.example.com/gpuc-runtime:0.1.0"},
        "nodePools": pools,
    })
}

/// The cluster that a configuration means.
pub(super) fn resolved(config: Value) -> (Cluster, Report) {
    let config: GpuCluster = serde_json::from_value(config).expect("a configuration");
    let mut report = Report::default();
    (
        resolve(Arc::new(config), &Choices::default(), &mut report),
        report,
    )
}

/// What is made of a configuration that nothing stands against.
pub(super) fn provisioned(config: Value) -> Provisioning {
    let (cluster, mut report) = resolved(config);
    let checked = check(&cluster, &mut report);
    let checked = checked.unwrap_or_else(|| panic!("{:#?}", report.diagnostics()));
    cluster.cloud.provision(&checked)
}

/// The resource that a script makes.
pub(super) fn made<'p>(provisioning: &'p Provisioning, script: &str) -> &'p Resource {
    let mut resources = provisioning.resources.iter();
    resources
        .find(|it| it.script == script)
        .expect("a resource")
}

/// A command on one line; the programs in it stand in braces.
pub(super) fn line(command: &Command) -> String {
    let words = command.0.iter().map(|word| match word {
        Word::Text(text) => text.clone(),
        Word::Observed(program) | Word::ObservedIfAny(program) | Word::ObservedWords(program) => {
            format!("{{{program}}}")
        }
        Word::Beside(file) => format!("cloud/{file}"),
    });
    words.collect::<Vec<_>>().join(" ")
}
