//! Output formats of findings, one file each.

mod control_chars;
pub mod escape;
mod fingerprint;
mod format;
mod github;
mod gitlab;
mod json;
mod location;
mod markdown;
mod options;
mod sarif;
mod shorten;
mod summary;
mod text;

pub use control_chars::replace_control_chars;
pub use escape::{inline_code, table_cell};
pub use format::{Format, render};
pub use github::{escape_data, escape_property};
pub use options::Options;

#[cfg(test)]
mod tests;
