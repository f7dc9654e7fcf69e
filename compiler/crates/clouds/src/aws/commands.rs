//! Commands that several resources share.

use gpuc_model::Cluster;
use gpuc_model::plan::{Command, Word};
use serde_json::Value;

use super::{cluster_name, section};

/// The cluster that a command applies to.
pub(super) struct Target {
    /// The cluster's name in EKS.
    pub(super) cluster: String,
    /// Its region.
    pub(super) region: String,
}

/// A command of the AWS CLI, always with the region: the default region of the user's profile may differ.
pub(super) fn aws<'a>(words: impl IntoIterator<Item = &'a str>, region: &str) -> Command {
    Command::new(["aws"]).with(words).with(["--region", region])
}

impl Target {
    /// The target of a cluster's file.
    pub(super) fn cluster(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster_name(&cluster.config).value.clone(),
            region: section(&cluster.config).region.value.clone(),
        }
    }

    /// Updates settings of the control plane and waits for completion.
    pub(super) fn configure(&self, settings: &Value) -> Vec<Command> {
        let command = aws(["eks", "update-cluster-config"], &self.region)
            .with(["--name", &self.cluster])
            .with(["--resources-vpc-config".to_owned(), settings.to_string()]);
        vec![command, self.wait_for_cluster()]
    }

    /// Waits until the control plane accepts updates: EKS rejects an update while another one is in progress.
    pub(super) fn wait_for_cluster(&self) -> Command {
        aws(["eks", "wait", "cluster-active"], &self.region).with(["--name", &self.cluster])
    }

    /// A command for a node group.
    pub(super) fn on_group(&self, command: &str, group: &str) -> Command {
        aws(["eks", command], &self.region)
            .with(["--cluster-name", &self.cluster])
            .with(["--nodegroup-name", group])
    }

    /// Updates a setting of a node group and waits for completion.
    pub(super) fn change_group(&self, group: &str, flag: &str, setting: Word) -> Vec<Command> {
        let command = self.on_group("update-nodegroup-config", group);
        let command = command.with([flag]).with_word(setting);
        vec![command, self.wait_for_group(group)]
    }

    /// Waits until a node group accepts updates.
    pub(super) fn wait_for_group(&self, group: &str) -> Command {
        aws(["eks", "wait", "nodegroup-active"], &self.region)
            .with(["--cluster-name", &self.cluster])
            .with(["--nodegroup-name", group])
    }
}
