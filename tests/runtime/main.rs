//! The runtime as a whole: what the daemon promises the kubelet, held against a simulated one.

mod kubelet;
mod proto;
#[path = "../support/kubelet/mod.rs"]
mod simulated_kubelet;
