//! The deployment plan of a cluster, as data: the only input of the audit and the emitters.

mod auto_upgrade;
mod chart;
mod delivery;
mod image;
mod object;
mod provisioning;
mod release;
mod summary;
mod verification;

pub use auto_upgrade::{AutoUpgrade, NodeProvisioner};
pub use chart::*;
pub use delivery::*;
pub use image::*;
pub use object::*;
pub use provisioning::*;
pub use release::*;
pub use summary::*;
pub use verification::*;

/// The deployment plan of a cluster.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the cluster, which is the folder of the tree.
    pub cluster: String,
    /// The provisioning by scripts in the cloud or on hosts.
    pub provisioning: Provisioning,
    /// Kubernetes objects, one per file.
    pub objects: Vec<Object>,
    /// Helm releases.
    pub releases: Vec<Release>,
    /// The images of the objects and the releases, sorted, without duplicates.
    pub images: Vec<PulledImage>,
    /// Every release and every component of objects, once, in install order.
    pub steps: Vec<Step>,
    /// How all of it is deployed to the cluster.
    pub delivery: Delivery,
    /// The checks of `verify.sh`.
    pub expectations: Vec<Expectation>,
    /// The contents of the README.
    pub summary: Summary,
}
