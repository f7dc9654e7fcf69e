//! Publishes the state of the daemon: to the Node object, and to files.

pub mod cdi_file;
mod feature_file;
mod node;
mod node_publisher;

pub use node::{CONDITION, HealthReport, OwnNode};
pub use node_publisher::{Sources, follow};

#[cfg(test)]
mod api_server;
