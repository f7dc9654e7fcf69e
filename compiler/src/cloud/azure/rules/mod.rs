//! Rules that only AKS has.

use crate::check::Rule;

/// The rules, by id.
pub static RULES: &[&Rule] = &[];
