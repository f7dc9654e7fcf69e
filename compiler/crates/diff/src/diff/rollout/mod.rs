//! The rollout plan: steps in order, if one run of the scripts and one sync are not enough.
//!
//! `phases.rs` defines the order. `producers.rs` lists the functions that return `Vec<Planned>`, which are in the other
//! files by topic.

mod changed_pools;
mod cleanup;
mod cloud;
mod cluster_lifecycle;
mod cluster_replacement;
mod command_names;
mod commands;
mod data;
mod delivery;
mod device_classes;
mod gitops;
mod hosts;
mod namespaces;
mod node_provisioners;
mod notebooks;
mod phases;
mod plan;
mod plugins;
mod producers;
mod pruned_pools;
mod queues;
mod recreate;
mod references;
mod renamed_workloads;
mod replacement;
mod scale_down;
mod states;
mod taints;
mod temporary_drains;
mod uninstall;
mod versions;
mod volume_claims;

pub use command_names::{BUILD, TEARDOWN};
pub(super) use plan::{plan_steps, rebase_steps};
pub(super) use states::Rollout;
