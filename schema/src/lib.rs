//! The words that gpuc's compiler and runtime share.
//!
//! [`config`] is the file a user writes, [`gpu`] what is known of GPUs, [`node_config`] what the compiler hands to the
//! runtime on a node. [`spanned`] lets any of them remember where a value was written.

pub mod config;
pub mod gpu;
pub mod node_config;
pub mod spanned;

pub use spanned::{Span, Spanned};
