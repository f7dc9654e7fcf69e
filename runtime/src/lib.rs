//! gpuc-runtime, the device plugin that gpuc deploys on every GPU node.
//!
//! A pure half (`device`, `allocate`, `preferred`, `health`, `cdi`, `labels`) and a door to the world (`nvml`, `host`,
//! `driver_files`, `kubelet`, `plugin`, `publish`, `metrics`), joined in `run`, the only place that reacts to anything.

pub mod allocate;
pub mod args;
pub mod cdi;
pub mod config;
pub mod device;
pub mod driver_files;
pub mod health;
pub mod host;
pub mod kubelet;
pub mod labels;
pub mod metrics;
pub mod mig;
pub mod mps;
pub mod nvml;
pub mod plugin;
pub mod preferred;
pub mod publish;
pub mod run;
pub mod state;
