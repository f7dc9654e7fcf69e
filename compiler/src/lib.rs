//! A compiler for GPU clusters.
//!
//! ```text
//! Source ─parse→ Document ─decode→ Config ─resolve→ Cluster ─check→ Checked ─lower→ Plan ─audit→ Audited ─emit→ Tree
//! ```

pub mod chart;
pub mod check;
pub mod cloud;
pub mod diag;
pub mod emit;
pub mod lock;
pub mod lower;
pub mod model;
pub mod node;
pub mod plan;
pub mod resolve;
pub mod shell;
pub mod source;
pub mod tree;
pub mod yaml;
