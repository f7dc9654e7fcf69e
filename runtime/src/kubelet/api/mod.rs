//! The kubelet's APIs as Rust: generated, committed, and held fresh by a test, so that no build needs protoc.

/// The device plugin API.
#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated code")]
#[allow(clippy::allow_attributes_without_reason, reason = "generated code")]
pub mod v1beta1;

/// The PodResources API.
#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated code")]
#[allow(clippy::allow_attributes_without_reason, reason = "generated code")]
pub mod v1;
