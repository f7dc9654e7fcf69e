//! Tests that look at the runtime from outside, one module for each promise: with made-up drivers, kubelets and clients.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]
//! The runtime as a whole: what the daemon promises the kubelet, held against a simulated one.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod cdi;
mod exposition;
mod golden;
mod grants;
mod health;
mod http;
mod kubelet;
mod labels;
mod machine;
mod machines;
mod metrics;
mod proto;
#[path = "../support/kubelet/mod.rs"]
mod simulated_kubelet;
mod watcher;
//! The runtime as a whole, held against a simulated driver and a simulated kubelet.

#[path = "../support/fake_driver.rs"]
mod fake_driver;
mod nvml;
