//! From a checked cluster to the files of its tree: charts, lowering, audit, emission.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

pub mod audit;
pub mod charts;
pub mod compile;
pub mod emit;
pub mod expand;
pub mod fleet;
pub mod lock;
pub mod lower;
