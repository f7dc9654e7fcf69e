//! Where a cluster is, and gcloud commands that say so.

use gpuc_schema::config::{ExistingCluster, Gcp, GcpCluster};

use super::names;
use super::section;
use crate::model::{Cluster, Pool};
use crate::plan::Command;

/// A cluster's project, location and name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'c> {
    /// The project's id.
    pub(super) project: &'c str,
    /// The region or zone.
    pub(super) location: &'c str,
    /// The cluster's name in the cloud.
    pub(super) cluster: &'c str,
}

/// Where a cluster is.
pub(super) fn of(cluster: &Cluster) -> Place<'_> {
    let gcp = section(&cluster.written);
    Place {
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

/// The zones that a pool's nodes are in; none when it is left to the regional cluster.
pub(super) fn zones<'c>(gcp: &'c Gcp, pool: &'c Pool) -> Vec<&'c str> {
    let written: Vec<&str> = pool
        .written
        .zones
        .iter()
        .map(|zone| zone.as_str())
        .collect();
    if written.is_empty() && names::is_zone_name(&gcp.location) {
        return vec![&gcp.location];
    }
    written
}

impl Place<'_> {
    /// `gcloud container clusters VERB NAME` for the cluster.
    pub(super) fn cluster(&self, verb: &str) -> Command {
        let words = ["gcloud", "container", "clusters", verb, self.cluster];
        self.located(Command::new(words))
    }

    /// `gcloud container node-pools VERB NAME` for a pool.
    pub(super) fn pool(&self, verb: &str, name: &str) -> Command {
        let command = Command::new(["gcloud", "container", "node-pools", verb, name]);
        self.located(command.with([format!("--cluster={}", self.cluster)]))
    }

    /// Without `--quiet` a command that asks fails where nobody can answer.
    fn located(&self, command: Command) -> Command {
        command.with([
            format!("--project={}", self.project),
            format!("--location={}", self.location),
            "--quiet".to_owned(),
        ])
    }
}
