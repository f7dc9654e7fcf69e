//! gpuc-runtime, the device plugin that gpuc deploys on every GPU node.
//!
//! Pure logic (`device`, `allocate`, `preferred`, `health`, `cdi`, `labels`) is separate from modules with side effects
//! (`nvml`, `host`, `driver_files`, `kubelet`, `plugin`, `publish`, `metrics`). `run` connects them in one event loop.

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
