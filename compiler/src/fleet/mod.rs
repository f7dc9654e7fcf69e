//! Rules that span clusters. A single file is a fleet of one.

mod cluster_name_taken;
mod gitops_names_collide;
mod gitops_path_shared;

pub use cluster_name_taken::CODE as CLUSTER_NAME_TAKEN;

use crate::compile::Compilation;
use crate::diag::{Code, Report};

/// Every code of these rules, by id.
pub static CODES: &[&Code] = &[
    &CLUSTER_NAME_TAKEN,
    &gitops_names_collide::CODE,
    &gitops_path_shared::CODE,
];

/// Looks at all clusters of a run together.
pub fn check(compilations: &[Compilation], report: &mut Report) {
    cluster_name_taken::check(compilations, report);
    gitops_names_collide::check(compilations, report);
    gitops_path_shared::check(compilations, report);
}
