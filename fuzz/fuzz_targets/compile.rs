//! Bytes to the files of clusters: whatever they are, they build or are complained of.
#![no_main]

#[path = "../promises.rs"]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| promises::compile(bytes));
