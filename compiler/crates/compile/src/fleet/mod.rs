//! Rules across clusters. A single file is a fleet with one cluster.

mod cluster_name_taken;
mod gitops_names_collide;
mod gitops_path_shared;

use gpuc_syntax::diag::{Code, Report};

pub use cluster_name_taken::CODE as CLUSTER_NAME_TAKEN;

use crate::compile::Compilation;

/// Every code of these rules, by id.
pub static CODES: &[&Code] = &[
    &CLUSTER_NAME_TAKEN,
    &gitops_names_collide::CODE,
    &gitops_path_shared::CODE,
];

/// Checks all clusters of a run together.
pub fn check(compilations: &[Compilation], report: &mut Report) {
    cluster_name_taken::check(compilations, report);
    gitops_names_collide::check(compilations, report);
    gitops_path_shared::check(compilations, report);
}
