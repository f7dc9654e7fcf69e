//! What the daemon writes where others read it: the node object, and files.

pub mod cdi_file;
mod feature_file;
mod follow;
mod node;

pub use follow::{Sources, follow};
pub use node::{CONDITION, OwnNode, Wellbeing};

#[cfg(test)]
mod api_server;
