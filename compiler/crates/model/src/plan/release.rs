//! Helm releases.

use gpuc_syntax::node::Node;

use super::Chart;

/// A Helm release.
#[derive(Clone, Debug)]
pub struct Release {
    /// The release's name.
    pub name: String,
    /// The chart.
    pub chart: &'static Chart,
    /// The repository that the chart is pulled from: that of its publisher, or the user's mirror.
    pub repository: String,
    /// The namespace.
    pub namespace: String,
    /// The values: those of gpuc, overridden by those in the file.
    pub values: Node,
    /// The pools that it applies to.
    pub pools: Vec<String>,
    /// The DaemonSets that it runs on the nodes of each of these pools, in its namespace.
    pub daemon_sets: Vec<String>,
}

impl Release {
    /// Whether the chart is pulled from an OCI registry.
    pub fn is_oci(&self) -> bool {
        self.repository.starts_with("oci://")
    }

    /// The URL of the chart in an OCI registry.
    pub fn oci_url(&self) -> String {
        format!("{}/{}", self.repository, self.chart.name)
    }
}
