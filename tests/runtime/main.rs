//! Tests that look at the runtime from outside, one module for each promise.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

mod cdi;
mod golden;
mod grants;
mod labels;
mod machines;
//! What the runtime does on a node: with made-up drivers, kubelets and clients, through its public doors.

mod exposition;
mod health;
mod http;
mod machine;
mod metrics;
mod watcher;
