//! Bytes to a tree: whatever they are, they are read or complained of.
#![no_main]

#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::parse(bytes));
