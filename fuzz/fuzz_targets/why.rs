//! Bytes to a cluster and a question about its tree: whatever they are, there is an answer or an error.
#![no_main]

#[allow(dead_code, reason = "every target has a promise of its own")]
#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::why(bytes));
