//! Checks whether a pod fits on the nodes of a pool, for workloads of the file, notebooks and manifests.
//!
//! [`Demand`] contains the requirements of one pod. [`check_pool`] checks it against one pool, [`check_pools`] against
//! all pools, and [`explain_pools`] formats the reasons, one line for each pool. A feasibility models the scheduler's
//! decision for an empty node of the pool, and then the problems of the pod on that node. Facts that the file does not
//! determine, such as a label that may have been added to a node by hand, lead to [`Feasibility::Unknown`] and never to
//! [`Feasibility::DoesNotFit`].

mod affinity;
pub mod capacity;
pub mod contention;
mod cuda;
mod defaults;
mod demand;
mod explain;
mod image;
mod image_name;
mod labels;
mod ngc;
mod node;
mod node_labels;
mod pod;
mod pool_feasibility;
mod resources;
mod workload;

mod bin_packing;
pub mod feasibility;
mod pod_sets;
mod reason;
mod taints;
pub mod usage;
mod workloads;

pub use affinity::{Operator, Requirement, Term};
pub use capacity::{OverCapacity, find_over_capacity};
pub use cuda::{Cuda, cuda_version};
pub use defaults::DefaultRequests;
pub use demand::{Amount, Claim, Demand, Image, PodToleration, Request};
pub use explain::{closest_fit, explain_pool, explain_pools};
pub use image::{NonexistentImage, find_nonexistent};
pub use node_labels::{ZONE, known_label_values};
pub use pod::thousandths_of_node;
pub use pod_sets::{UnschedulablePodSets, can_assign, find_unschedulable, pod_sets};
pub use reason::{MisfitCause, Reason, gib};
pub use resources::devices_of_class;
pub use workload::{PodGroup, QuotaResource, RunningWorkload, claimed_storage, is_long_running};

pub use bin_packing::{Oversubscription, find_oversubscriptions};
pub use feasibility::Feasibility;
pub use pool_feasibility::{PoolFeasibility, check_pool, check_pools};
pub use taints::{matches_taint, tolerates};
pub use usage::{ExceededQuota, Limit, exceeded_quotas, resource_limits};
pub use workloads::{fitting_pools, misfit_reason};
