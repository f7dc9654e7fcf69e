//! Creates the configured MIG devices on the node's GPUs.

mod apply;
mod plan;

pub use apply::{Outcome, apply};
pub use plan::{Instance, MigState, MigStep, PlanError, plan};
