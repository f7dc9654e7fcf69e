//! What the daemon tells the cluster.

mod node;

pub use node::{CONDITION, OwnNode, Wellbeing};

#[cfg(test)]
mod api_server;
