//! Decodes a tree into the types of the configuration, and reports all shape errors in one run. An invalid node is
//! reported and replaced by a placeholder, so that the rest is decoded. Types, ranges, names and keys are checked
//! before serde's visitor sees them. Some constraints are known only to serde: required keys, and values that a type
//! rejects. They are discovered from serde's errors, and decoding restarts. Constraints apply to a type, not to one
//! node, so that a large file needs hardly more passes than a small one.

mod abbreviation;
mod access;
mod choice;
pub mod codes;
mod constraints;
mod cursor;
mod deserialize;
mod document;
mod foreign_keys;
mod misplaced_key;
mod number_ranges;
mod other_document;
mod pass;
mod path;
mod placeholder;
mod spanned_parts;

pub use constraints::MAX_PROBLEMS;
pub use document::{decode, decode_cluster, decode_cluster_with};
pub use misplaced_key::correct_key;
pub use number_ranges::check_ranges;
pub use placeholder::PlaceholderKind;

#[cfg(test)]
mod tests;
