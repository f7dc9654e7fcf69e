//! Tests of the runtime from outside, with simulated drivers, kubelets and clients. Each module tests one property.
#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

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
mod hangs;
mod health;
mod http;
mod inspect;
mod kubelet;
mod labels;
mod layout_change;
mod machine;
mod machines;
mod manifests;
mod metrics;
mod mig;
mod mounts;
mod mps;
mod needs_gpu;
mod nvml;
mod proto;
mod settings;
#[path = "../support/kubelet/mod.rs"]
mod simulated_kubelet;
mod simulation;
mod watcher;
