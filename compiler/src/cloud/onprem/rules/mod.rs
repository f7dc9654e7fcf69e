//! Rules that only hosts of the user's have, one file each.

use crate::check::Rule;

/// Every rule, by id.
pub(super) static RULES: &[&Rule] = &[];
