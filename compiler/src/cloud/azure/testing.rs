//! Clusters for tests, from text.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;

use crate::check;
use crate::diag::Report;
use crate::model::Cluster;
use crate::plan::Provisioning;
use crate::resolve::resolve;

/// The cluster of this file.
pub(super) fn cluster(yaml: &str, report: &mut Report) -> Cluster {
    let json: serde_json::Value = serde_yaml::from_str(yaml).expect("the test's file is YAML");
    let config: GpuCluster = serde_json::from_value(json).expect("and a cluster");
    resolve(Arc::new(config), report)
}

/// The names of all findings about this file.
pub(super) fn codes(yaml: &str) -> Vec<&'static str> {
    let mut report = Report::default();
    let cluster = cluster(yaml, &mut report);
    check::check(&cluster, &mut report);
    let found = report.diagnostics().iter();
    found.map(|found| found.code.name).collect()
}

/// What is made of this file, which has nothing wrong with it.
pub(super) fn provision(yaml: &str) -> Provisioning {
    let mut report = Report::default();
    let cluster = cluster(yaml, &mut report);
    let checked = check::check(&cluster, &mut report);
    let checked = checked.unwrap_or_else(|| panic!("{:#?}", report.diagnostics()));
    cluster.cloud.provision(&checked)
}
