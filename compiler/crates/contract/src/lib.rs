//! What the nodes of a cluster must be, for those who create nodes with other tools than gpuc.
//!
//! - [`mod@contract`] has the [`Contract`]: the pools with their labels, taints, machines and sizes. `gpuc build`
//!   writes it to `cloud/contract.json`.
//! - [`terraform`] reads node pools from the output of `terraform show -json`.
//! - [`compare()`] reports where both differ.
//!
//! The library is pure: texts go in, diagnostics come out.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "tests stop at the first surprise")
)]

mod codes;
mod compare;
pub mod contract;
pub mod terraform;

pub use codes::CODES;
pub use compare::{Compared, compare};
pub use contract::{Contract, contract};
