//! Values that derive from a pool and that several components of the output share.

pub mod components;
pub mod origins;
mod tolerations;

pub use tolerations::{early_tolerations, tolerations};
