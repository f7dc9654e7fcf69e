//! Whether a node of a pool can hold a pod: one answer for workloads of the file, for notebooks and for manifests that
//! were written by hand.
//!
//! [`Demand`] is what one pod asks for, [`verdict`] holds it against one pool, [`places`] against all of them, and
//! [`explain`] says in one line for each pool why not. A verdict is what the scheduler would say of an empty node of
//! the pool, then what would stop the pod once it is there. What nobody can know from the file alone, such as a label
//! that somebody may have put on a node by hand, makes a `perhaps` and never a `no`.

mod affinity;
mod crowded;
mod defaults;
mod demand;
mod devices;
mod explain;
mod image;
mod labels;
mod load;
mod ngc;
mod node;
mod pod;
mod quantity;
mod reason;
mod sets;
mod spent;
mod sums;
mod taints;
mod verdict;
mod workloads;

pub use affinity::{Operator, Requirement, Term};
pub use crowded::{Crowded, crowded};
pub use defaults::Defaults;
pub use demand::{Amount, Claim, Demand, Image, Request, Tolerated};
pub use explain::{best, explain, line};
pub use image::{Cuda, Gone, cuda_of, gone};
pub use labels::{ZONE, values_of};
pub use load::{Group, Load, What, lasts, storage};
pub use pod::thousandths_of;
pub(crate) use quantity::thousandths;
pub use reason::{Reason, Why, gib};
pub use sets::{Stuck, find_places, sets, stuck};

pub use spent::{Limit, Spent, limits, spent};
pub use sums::{Excess, excesses};
pub use taints::tolerates;
pub use verdict::{Answer, Verdict, places, verdict};
pub use workloads::{holding, why_not};
