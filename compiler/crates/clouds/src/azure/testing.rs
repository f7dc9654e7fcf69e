//! Test clusters, parsed from text.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;

use gpuc_model::Cluster;
use gpuc_model::check;
use gpuc_model::plan::Provisioning;
use gpuc_model::resolve::{Choices, resolve};
use gpuc_syntax::diag::Report;

/// Parses and resolves a cluster file.
pub(super) fn cluster(yaml: &str, report: &mut Report) -> Cluster {
    let json: serde_json::Value = serde_yaml::from_str(yaml).expect("the test's file is YAML");
    let config: GpuCluster = serde_json::from_value(json).expect("and a cluster");
    resolve(
        Arc::new(config),
        &crate::testing::REGISTRY,
        &Choices::default(),
        report,
    )
}

/// A file with a cluster that gpuc creates, a system pool, and the given pools.
pub(super) fn with_pools(pools: &str) -> String {
    with_cluster("{create: {}}", pools)
}

/// A file with the given cluster, a system pool, and the given pools.
pub(super) fn with_cluster(cluster: &str, pools: &str) -> String {
    format!(
        r#"
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: "1.36"}}
cloud: {{azure: {{subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: demo, location: eastus, cluster: {cluster}}}}}
stack: {{runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}}
nodePools:
- {{name: system, machine: Standard_D4s_v5, nodes: {{count: 2}}}}
{pools}
"#
    )
}

/// Provisioning of a file without errors.
pub(super) fn provision(yaml: &str) -> Provisioning {
    let mut report = Report::default();
    let cluster = cluster(yaml, &mut report);
    let checked = check::check(&cluster, &mut report)
        .unwrap_or_else(|| panic!("{:#?}", report.diagnostics()));
    cluster.cloud.provision(&checked)
}
