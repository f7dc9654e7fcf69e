//! Tests that look at the whole compiler, one module for each promise.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

#[path = "../support/mod.rs"]
mod support;

mod cli;
mod codes;
mod corpus;
mod examples;
mod fresh;
mod golden;
mod properties;
mod schema;
mod starters;
mod yaml;
