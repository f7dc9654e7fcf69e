//! From text to typed configuration, with every error at its place.
//!
//! This crate knows neither GPUs nor Kubernetes: it reads YAML with positions, decodes it into the types of
//! `gpuc-schema`, and renders diagnostics.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

pub mod decode;
pub mod diag;
pub mod load;
pub mod node;
pub mod schema;
pub mod shell;
pub mod source;
pub mod tree;
pub mod variables;
pub mod yaml;
