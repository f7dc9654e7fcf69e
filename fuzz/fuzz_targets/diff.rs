//! Bytes to two versions of a cluster: whatever they are, their differences are complete.
#![no_main]

#[allow(dead_code, reason = "every target has a promise of its own")]
#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::diff(bytes));
