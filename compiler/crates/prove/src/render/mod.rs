//! Prints a judgement.

mod json;
#[cfg(test)]
mod tests;
mod text;

pub use json::json;
pub use text::text;
