//! gpuc-runtime, the device plugin that gpuc deploys on every GPU node.
//!
//! A pure half (`device`, `allocate`, `preferred`, `health`, `cdi`, `labels`) and a door to the world (`nvml`, `host`,
//! `kubelet`, `plugin`, `publish`, `metrics`), joined in `run`, the only place that reacts to anything.

pub mod allocate;
pub mod config;
pub mod device;
pub mod health;
pub mod host;
pub mod metrics;
pub mod nvml;
pub mod state;
