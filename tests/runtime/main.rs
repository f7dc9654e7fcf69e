//! Tests that look at the runtime from outside, one module for each promise: with made-up drivers, kubelets and
//! clients.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

mod cdi;
mod command;
mod container;
mod daemon;
mod documents;
mod exposition;
#[path = "../support/fake_driver.rs"]
mod fake_driver;
mod golden;
mod grants;
mod health;
mod http;
mod inspect;
mod kubelet;
mod labels;
mod machine;
mod machines;
mod manifests;
mod metrics;
mod mig;
mod mps;
mod nvml;
mod proto;
mod settings;
#[path = "../support/kubelet/mod.rs"]
mod simulated_kubelet;
mod watcher;
