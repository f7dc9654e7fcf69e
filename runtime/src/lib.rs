//! gpuc-runtime, the device plugin that gpuc deploys on every GPU node.
//!
//! So far it only reads its configuration: the daemon itself is not there yet.

pub mod config;
