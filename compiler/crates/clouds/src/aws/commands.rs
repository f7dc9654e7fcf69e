//! Commands that several resources share.

use gpuc_model::Cluster;
use gpuc_model::plan::{Argument, Command};
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
    Command::new(["aws"])
        .with_arguments(words)
        .with_arguments(["--region", region])
}

impl Target {
    /// The target of a cluster's file.
    pub(super) fn for_cluster(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster_name(&cluster.config).value.clone(),
            region: section(&cluster.config).region.value.clone(),
        }
    }

    /// Updates settings of the control plane and waits for completion.
    pub(super) fn update_vpc_config(&self, settings: &Value) -> Vec<Command> {
        let command = aws(["eks", "update-cluster-config"], &self.region)
            .with_arguments(["--name", &self.cluster])
            .with_arguments(["--resources-vpc-config".to_owned(), settings.to_string()]);
        vec![command, self.await_update(&[])]
    }

    /// Updates the authentication mode of the cluster and waits for completion.
    pub(super) fn update_authentication(&self, mode: &str) -> Vec<Command> {
        let command = aws(["eks", "update-cluster-config"], &self.region)
            .with_arguments(["--name", &self.cluster])
            .with_arguments(["--access-config".to_owned()])
            .with_arguments([format!("authenticationMode={mode}")]);
        vec![command, self.await_update(&[])]
    }

    /// A command for an access entry.
    pub(super) fn entry_command(&self, command: &str, principal: &str) -> Command {
        aws(["eks", command], &self.region)
            .with_arguments(["--cluster-name", &self.cluster])
            .with_arguments(["--principal-arn", principal])
    }

    /// Reads the update that the previous command started. The flags name what it updates; without any, the cluster.
    pub(super) fn await_update(&self, flags: &[&str]) -> Command {
        aws(["eks", "describe-update"], &self.region)
            .with_arguments(["--name", &self.cluster])
            .with_arguments(flags.iter().copied())
            .with_arguments(["--output", "json", "--update-id"])
            .with_argument(Argument::UpdateId)
    }

    /// A command for an add-on.
    pub(super) fn addon_command(&self, command: &str, addon: &str) -> Command {
        aws(["eks", command], &self.region)
            .with_arguments(["--cluster-name", &self.cluster])
            .with_arguments(["--addon-name", addon])
    }

    /// A command for a node group.
    pub(super) fn group_command(&self, command: &str, group: &str) -> Command {
        aws(["eks", command], &self.region)
            .with_arguments(["--cluster-name", &self.cluster])
            .with_arguments(["--nodegroup-name", group])
    }

    /// Updates a setting of a node group and waits for completion.
    pub(super) fn update_group(&self, group: &str, flag: &str, setting: Argument) -> Vec<Command> {
        let command = self.group_command("update-nodegroup-config", group);
        let command = command.with_arguments([flag]).with_argument(setting);
        vec![command, self.await_group_update(group)]
    }

    /// Reads the update of a node group that the previous command started.
    pub(super) fn await_group_update(&self, group: &str) -> Command {
        self.await_update(&["--nodegroup-name", group])
    }
}
