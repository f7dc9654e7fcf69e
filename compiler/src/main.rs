//! x
mod cli;
fn main() {}
