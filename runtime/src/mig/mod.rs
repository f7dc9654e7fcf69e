//! Cuts a node's GPUs into the slices that the configuration wants.

mod apply;
mod plan;

pub use apply::{Outcome, apply};
pub use plan::{Cut, Instance, Refusal, Step, plan};
