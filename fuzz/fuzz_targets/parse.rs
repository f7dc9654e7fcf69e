//! Bytes to a tree: whatever they are, they are read or complained of.
#![no_main]

#[allow(dead_code, reason = "the other target has a promise of its own")]
#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::parse(bytes));
