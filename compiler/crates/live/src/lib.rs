//! Running clusters: their state from a snapshot or an API server, and the causes of faults in it.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "tests stop at the first surprise")
)]

pub mod doctor;
pub mod objects;
pub mod read;
pub mod redact;
pub mod role;
pub mod state;
