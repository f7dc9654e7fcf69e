//! Tests that look at the whole compiler, one module for each promise.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

#[path = "../support/mod.rs"]
mod support;

mod codes;
mod examples;
mod fresh;
mod golden;
mod keys;
mod matrix;
mod needs_shell;
mod needs_shellcheck;
mod origins;
mod schema;
mod starters;
mod tidy;
mod yaml;
