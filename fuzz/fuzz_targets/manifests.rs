//! Bytes to findings about manifests: whatever they are, they are checked or skipped.
#![no_main]

#[allow(dead_code, reason = "every target has a promise of its own")]
#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::manifests(bytes));
