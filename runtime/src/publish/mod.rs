//! Publishes the state of the daemon: to the Node object, and to files.

pub mod cdi_file;
mod feature_file;
mod health_report;
mod node;
mod node_gpus;
mod node_publisher;

pub use node::{CONDITION, HealthReport, NodeClient, NodeError, NodeMetadata, REQUEST_TIMEOUT};
pub use node_publisher::{MAX_QUEUED_CHANGES, PublisherInputs, run_node_publisher};

#[cfg(test)]
mod api_server;
#[cfg(test)]
mod faults;
