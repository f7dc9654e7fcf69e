//! The types that gpuc's compiler and runtime share. [`config`] is the user's configuration file, [`gpu`] the catalog
//! of GPU facts, [`node_config`] the configuration of the runtime, which the compiler generates, [`node_state`] what
//! the runtime publishes. [`spanned`] adds source locations to values.

pub mod config;
pub mod gpu;
pub mod node_config;
pub mod node_state;
pub mod quantity;
pub mod spanned;

pub use spanned::{Span, Spanned};
