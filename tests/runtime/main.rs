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
//! The runtime as a whole: what the daemon promises the kubelet, held against a simulated one.

mod kubelet;
mod proto;
#[path = "../support/kubelet/mod.rs"]
mod simulated_kubelet;
