//! What to do, as data: the only thing that the audit and the emitters know.

mod delivery;
mod expectation;
mod followed;
mod object;
mod provisioning;
mod summary;

pub use delivery::*;
pub use expectation::*;
pub use followed::{Followed, Maker};
pub use object::*;
pub use provisioning::*;
pub use summary::*;

/// Everything that becomes of a cluster.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cluster's name: the folder of the tree.
    pub cluster: String,
    /// What scripts do in the cloud or on hosts.
    pub provisioning: Provisioning,
    /// Kubernetes objects, one a file.
    pub objects: Vec<Object>,
    /// Helm releases.
    pub releases: Vec<Release>,
    /// What is put into the cluster after what: every release and every component of objects, once.
    pub steps: Vec<Step>,
    /// What brings all of it to the cluster.
    pub delivery: Delivery,
    /// What `verify.sh` looks for.
    pub expectations: Vec<Expectation>,
    /// What the tree's README says.
    pub summary: Summary,
}
