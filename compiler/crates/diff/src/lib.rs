//! Comparing compilations: what a change does, why a line is there, and the picture of a cluster.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

pub mod diff;
pub mod graph;
pub mod why;
