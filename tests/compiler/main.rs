//! Integration tests of the compiler, one module for each property.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

#[path = "../support/mod.rs"]
mod support;
mod synced;

mod admission;
mod cli;
mod codes;
mod conflicts;
mod corpus;
mod daemons;
mod definitions;
mod deliveries;
mod diff;
mod examples;
mod fleets;
mod fresh;
mod fuzzed;
mod given;
mod golden;
mod graphs;
mod hosts;
mod keys;
mod made_up;
mod manifests;
mod matrix;
mod measured;
mod monitoring;
mod needs;
mod needs_clouds;
mod needs_gcloud;
mod needs_integrations;
mod needs_kubectl;
mod needs_promtool;
mod needs_shell;
mod needs_shellcheck;
mod needs_upstream;
mod origins;
mod patched_pods;
mod patched_values;
mod patches;
mod placement;
mod policies;
mod properties;
mod ranges;
mod readme;
mod sample;
mod scheduling;
mod schema;
mod starters;
mod teams;
mod tidy;
mod together;
mod typed;
mod values;
mod why;
mod workloads;
mod yaml;
