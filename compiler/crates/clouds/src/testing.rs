//! Clusters of the tests of this crate.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;
use serde_json::Value;

use gpuc_model::resolve::{Choices, resolve};
use gpuc_model::{Cluster, Registry};
use gpuc_syntax::diag::{Code, Report};

/// Every cloud and rule, for tests.
pub(crate) static REGISTRY: Registry = Registry {
    clouds: crate::CLOUDS,
    rules: gpuc_checks::RULES,
    codes,
};

/// The codes of resolution and of every rule.
pub(crate) fn codes() -> Vec<&'static Code> {
    REGISTRY.codes_of_rules()
}

/// A file as JSON, because this YAML reader expects tags for enums, where the file has mappings.
pub(crate) fn json(yaml: &str) -> Value {
    serde_yaml::from_str(yaml).expect("the test's YAML")
}

/// Resolves a configuration.
pub(crate) fn resolved(config: Value) -> (Cluster, Report) {
    let config: GpuCluster = serde_json::from_value(config).expect("a configuration");
    let mut report = Report::default();
    let cluster = resolve(
        Arc::new(config),
        &REGISTRY,
        &Choices::default(),
        &mut report,
    );
    (cluster, report)
}
