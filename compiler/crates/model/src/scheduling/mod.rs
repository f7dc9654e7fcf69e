//! Checks whether a pod fits on the nodes of a pool, for workloads of the file, notebooks and manifests.
//!
//! [`Demand`] contains the requirements of one pod. [`verdict`] checks it against one pool, [`places`] against all
//! pools, and [`explain`] formats the reasons, one line for each pool. A verdict models the scheduler's decision for an
//! empty node of the pool, and then the problems of the pod on that node. Facts that the file does not determine, such
//! as a label that may have been added to a node by hand, lead to [`Answer::Perhaps`] and never to [`Answer::No`].

mod affinity;
pub mod capacity;
pub mod contention;
mod defaults;
mod demand;
mod explain;
mod image;
mod labels;
mod ngc;
mod node;
mod pod;
mod resources;
mod workload;

mod bin_packing;
pub mod feasibility;
mod reason;
mod sets;
mod taints;
pub mod usage;
mod workloads;

pub use affinity::{Operator, Requirement, Term};
pub use capacity::{Crowded, crowded};
pub use defaults::Defaults;
pub use demand::{Amount, Claim, Demand, Image, Request, Tolerated};
pub use explain::{best, explain, line};
pub use image::{Cuda, Gone, cuda_of, gone};
pub use labels::{ZONE, values_of};
pub use pod::thousandths_of;
pub use reason::{Reason, Why, gib};
pub use sets::{Stuck, find_places, sets, stuck};
pub use workload::{Group, Load, What, lasts, storage};

pub use bin_packing::{Excess, excesses};
pub use feasibility::{Answer, Verdict, places, verdict};
pub use taints::tolerates;
pub use usage::{Limit, Spent, limits, spent};
pub use workloads::{holding, why_not};
