//! A compiler for GPU clusters.

pub mod diag;
pub mod node;
pub mod source;
pub mod yaml;
