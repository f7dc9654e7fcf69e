//! Tests that look at the runtime from outside, one module for each promise.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

mod cdi;
mod golden;
mod grants;
mod labels;
mod machines;
