//! A compiler for GPU clusters.

pub mod decode;
pub mod diag;
pub mod load;
pub mod node;
pub mod source;
pub mod yaml;
