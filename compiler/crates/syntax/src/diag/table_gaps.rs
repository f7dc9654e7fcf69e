//! Findings about names that may be newer than gpuc's tables.

/// The ids and names of these findings. `allow` always drops them, errors too, and whatever `--deny` says: the user
/// knows that the name exists.
pub static TABLE_GAPS: &[(&str, &str)] = &[
    ("GPUC1004", "machine-unknown"),
    ("GPUC2062", "region-unknown"),
    ("GPUC2220", "machine-mistyped"),
    ("GPUC2221", "region-mistyped"),
    ("GPUC2222", "driver-branch-unknown"),
    ("GPUC2223", "driver-branch-new"),
    ("GPUC2224", "driver-branch-ended"),
];
