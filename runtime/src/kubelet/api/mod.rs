//! The generated code of the kubelet's APIs. It is committed, so that no build needs protoc; a test compares it.

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
