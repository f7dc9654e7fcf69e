//! Cuts a node's GPUs into the slices that the configuration wants.

mod plan;

pub use plan::{Cut, Instance, Refusal, Step, plan};
