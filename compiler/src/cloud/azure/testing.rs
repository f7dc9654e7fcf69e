//! Clusters for tests, from text.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;

use crate::check;
use crate::diag::Report;
use crate::model::Cluster;
use crate::plan::Provisioning;
use crate::resolve::{Choices, resolve};

/// The cluster of this file.
pub(super) fn cluster(yaml: &str, report: &mut Report) -> Cluster {
    let json: serde_json::Value = serde_yaml::from_str(yaml).expect("the test's file is YAML");
    let config: GpuCluster = serde_json::from_value(json).expect("and a cluster");
    resolve(Arc::new(config), &Choices::default(), report)
}

/// The names of all findings about this file.
pub(super) fn codes(yaml: &str) -> Vec<&'static str> {
    let mut report = Report::default();
    let cluster = cluster(yaml, &mut report);
    check::check(&cluster, &mut report);
    let found = report.diagnostics().iter();
    found.map(|found| found.code.name).collect()
}

/// A file with a cluster to be made, a system pool, and these pools.
pub(super) fn with_pools(pools: &str) -> String {
    with_cluster("{create: {}}", pools)
}

/// A file with this cluster, a system pool, and these pools.
pub(super) fn with_cluster(cluster: &str, pools: &str) -> String {
    format!(
        r#"
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: "1.34"}}
cloud: {{azure: {{subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: demo, location: eastus, cluster: {cluster}}}}}
stack: {{runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}}
nodePools:
- {{name: system, machine: Standard_D4s_v5, nodes: {{count: 2}}}}
{pools}
"#
    )
}

/// What is made of this file, which has nothing wrong with it.
pub(super) fn provision(yaml: &str) -> Provisioning {
    let mut report = Report::default();
    let cluster = cluster(yaml, &mut report);
    let checked = check::check(&cluster, &mut report);
    let checked = checked.unwrap_or_else(|| panic!("{:#?}", report.diagnostics()));
    cluster.cloud.provision(&checked)
}
