//! The runtime as a whole: what the daemon promises the kubelet, held against a simulated one.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod kubelet;
mod proto;
#[path = "../support/kubelet/mod.rs"]
mod simulated_kubelet;
