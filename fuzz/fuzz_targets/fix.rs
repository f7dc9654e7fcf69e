//! Bytes to fixed manifests: whatever they are, a fix keeps them valid, and is applied once.
#![no_main]

#[allow(dead_code, reason = "every target has a promise of its own")]
#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::fix(bytes));
