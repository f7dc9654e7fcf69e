//! Bytes to the files of clusters: whatever they are, they build or are complained of.
#![no_main]

#[allow(dead_code, reason = "the other target has a promise of its own")]
#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::compile(bytes));
