//! A compiler for GPU clusters.
//!
//! ```text
//! Source ─parse→ Document ─decode→ Config ─resolve→ Cluster ─check→ Checked ─lower→ Plan ─audit→ Audited ─emit→ Tree
//! ```
//!
//! The phases are in the crates below `compiler/crates`; this package adds the registry, which plugs in the clouds and
//! rules, and the command line.

mod registry;

pub use registry::{REGISTRY, codes, doctor_codes};
