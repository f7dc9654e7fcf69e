//! NVIDIA's critical errors (Xids), by the required action.

use std::fmt::Write;

/// Errors after which a GPU must be reset or its machine restarted: `RESET_GPU` and `RESTART_BM` in NVIDIA's catalog,
/// or where its workflows and descriptions result in one of these.
///
/// Source: <https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html>, edition of 2025-10-29, as in
/// `runtime/src/health/xid.rs`; a test compares the two.
pub const FATAL: &[u64] = &[
    46, 48, 54, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143, 144, 145, 146, 147, 148, 149,
    150, 151, 155, 156, 158, 167, 171, 172,
];

/// Errors that programs commonly cause: NVIDIA/k8s-device-plugin@v0.20.0 ignores them.
pub const CAUSED_BY_PROGRAMS: &[u64] = &[13, 31, 43, 45, 68, 109];

/// A regular expression that matches any of these numbers.
pub(super) fn any_number_pattern<'n>(numbers: impl IntoIterator<Item = &'n u64>) -> String {
    let mut pattern = String::new();
    for number in numbers {
        let bar = if pattern.is_empty() { "" } else { "|" };
        write!(pattern, "{bar}{number}").expect("writing to a String cannot fail");
    }
    pattern
}
