//! Classifies the impact of a difference on running workloads: one table for each kind of entity.
//!
//! `delta.rs` selects the file for an entity; each of the others covers one kind of entity or one effect.

mod capacity;
mod charts;
mod classification;
mod cluster_location;
mod cluster_replaced;
mod context;
mod delta;
mod hosts;
mod kinds;
mod persistent_data;
mod plugin_effects;
mod pools;
mod resource;
mod versions;

pub(crate) use classification::Classification;
pub(super) use cluster_replaced::is_created_by_gpuc;
pub(crate) use context::DiffContext;
pub(crate) use delta::classify;
pub(super) use hosts::MovedHost;
pub use kinds::is_known;
pub(super) use persistent_data::CLAIM_CANNOT_SHRINK;
pub(super) use versions::{VersionDirection, version_change};
