//! Proof that the GPUs and the fabric of a pool work, from the logs of NCCL, DCGM and CUDA samples.
//!
//! The library is pure: a log goes in, a [`Judgement`] comes out. It fails closed: a log without the line that proves a
//! property does not prove it.
//!
//! - [`proof`] has the workloads that prove a pool;
//! - [`transcript`] reads the log of an all-reduce over several processes;
//! - [`judge()`] compares it with the fabric and the bandwidth that are expected of a pool;
//! - [`dcgm`] reads and judges the diagnostics of DCGM, [`cuda`] the logs of a CUDA sample;
//! - [`render`] prints a judgement as text and as JSON.
//!
//! [`gpuc_model::fabric`] knows the fabric of a pool and its bandwidth.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "tests stop at the first surprise")
)]

mod causes;
pub mod cuda;
pub mod dcgm;
pub mod judge;
mod judgement;
mod log_line;
pub mod proof;
pub mod render;
#[cfg(test)]
mod testing;
pub mod transcript;

pub use judge::{Expectation, Floor, FloorOrigin, judge};
pub use judgement::{Evidence, Judgement, Measured, Reason, Verdict};
pub use proof::{NotProvable, Proof, Property};
pub use transcript::Transcript;
