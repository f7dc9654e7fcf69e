//! What the Kubernetes API server accepts: object types, CEL rules, names, quantities.
//!
//! This crate knows nothing of clusters or GPUs.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

pub mod api_server;
pub mod cron;
pub mod launch;
pub mod names;
pub mod rolling_update;
