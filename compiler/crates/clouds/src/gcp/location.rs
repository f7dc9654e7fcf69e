//! Location of a cluster, and gcloud commands with it.

use gpuc_model::plan::Command;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::{ExistingCluster, Gcp, GcpCluster};

use super::{names, section};

/// A cluster's project, location and name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'c> {
    /// The project ID.
    pub(super) project: &'c str,
    /// The region or zone.
    pub(super) location: &'c str,
    /// Name of the cluster in Google Cloud.
    pub(super) cluster: &'c str,
}

/// The location of a cluster.
pub(super) fn cluster_target(cluster: &Cluster) -> Target<'_> {
    let gcp = section(&cluster.config);
    Target {
        project: &gcp.project,
        location: &gcp.location,
        cluster: existing_name(gcp).unwrap_or(&cluster.name),
    }
}

fn existing_name(gcp: &Gcp) -> Option<&str> {
    match &gcp.cluster.value {
        GcpCluster::Existing(ExistingCluster { name: Some(name) }) => Some(name),
        _ => None,
    }
}

/// Zones of a pool's nodes; empty if the regional cluster determines them.
pub(super) fn pool_zones<'c>(gcp: &'c Gcp, pool: &'c Pool) -> Vec<&'c str> {
    let written: Vec<&str> = pool
        .settings
        .zones
        .iter()
        .map(|zone| zone.as_str())
        .collect();
    if written.is_empty() && names::is_zone_name(&gcp.location) {
        return vec![&gcp.location];
    }
    written
}

impl Target<'_> {
    /// The command `gcloud container clusters VERB NAME` for the cluster.
    pub(super) fn cluster_command(&self, verb: &str) -> Command {
        let words = ["gcloud", "container", "clusters", verb, self.cluster];
        self.with_location(Command::new(words))
    }

    /// The command `gcloud container node-pools VERB NAME` for a pool.
    pub(super) fn pool_command(&self, verb: &str, name: &str) -> Command {
        let command = Command::new(["gcloud", "container", "node-pools", verb, name]);
        self.with_location(command.with_arguments([format!("--cluster={}", self.cluster)]))
    }

    /// The command that lists the pools of the cluster, as JSON.
    pub(super) fn list_pools(&self) -> Command {
        let command = Command::new(["gcloud", "container", "node-pools", "list"]);
        self.with_location(command.with_arguments([format!("--cluster={}", self.cluster)]))
            .with_arguments(["--format=json"])
    }

    /// Without `--quiet`, a command that asks for confirmation fails if there is no terminal.
    fn with_location(&self, command: Command) -> Command {
        command.with_arguments([
            format!("--project={}", self.project),
            format!("--location={}", self.location),
            "--quiet".to_owned(),
        ])
    }
}
