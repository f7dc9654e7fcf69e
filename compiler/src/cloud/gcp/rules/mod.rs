//! Rules that only GKE has, one file each.

use crate::check::Rule;

/// The rules, by id.
pub(super) static RULES: &[&Rule] = &[];
