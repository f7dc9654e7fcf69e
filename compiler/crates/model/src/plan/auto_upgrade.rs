//! Automatic upgrades of nodes, and provisioners of nodes other than scripts.

use gpuc_schema::Span;

/// A value that a pool's nodes are upgraded to automatically.
#[derive(Clone, Debug)]
pub struct AutoUpgrade {
    /// Its name: `Kubernetes version`.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// The rank of the value: a higher rank is newer.
    pub rank: u8,
    /// The spans in the file that it follows from.
    pub inputs: Vec<Span>,
    /// The effect of an increase on nodes, for messages.
    pub upgrade_effect: &'static str,
    /// The effect of a decrease on nodes, for messages.
    pub downgrade_effect: &'static str,
    /// The source of these facts.
    pub source: &'static str,
}

/// A node provisioner in the cluster, with objects that are named after the pool.
#[derive(Debug)]
pub struct NodeProvisioner {
    /// Its name: `Karpenter`.
    pub name: &'static str,
    /// Its Helm release.
    pub release: &'static str,
    /// The kinds of its objects, each with its resource name for kubectl. Deleting the first one deletes its nodes.
    pub kinds: &'static [(&'static str, &'static str)],
    /// The label of its nodes whose value is the name of the pool.
    pub label: &'static str,
    /// The source for the fact that deleting the object deletes its nodes.
    pub source: &'static str,
}
