//! Integration tests of the compiler, one module for each property.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may stop at the first surprise, and reads and writes files"
)]

#[path = "../support/mod.rs"]
mod support;
mod sync_waves;

mod admission;
mod blue_green;
mod cascades;
mod chart_kubernetes;
mod chart_values;
mod cli;
mod codes;
mod conflicts;
mod container_defaults;
mod contention;
mod contract;
mod control_planes;
mod corpus;
mod daemon_sets;
mod definitions;
mod deliveries;
mod diff;
mod examples;
mod extended_resources;
mod external_data;
mod fleets;
mod fresh;
mod fuzzed;
mod gpu_labels;
mod gpu_metrics;
mod graphs;
mod helps;
mod hosts;
mod imports;
mod keys;
mod live;
mod manifests;
mod matrix;
mod mirrors;
mod monitoring;
mod needs_api_server;
mod needs_clouds;
mod needs_gcloud;
mod needs_integrations;
mod needs_kube_lab;
mod needs_kubectl;
mod needs_limits;
mod needs_promtool;
mod needs_shell;
mod needs_shellcheck;
mod needs_upstream;
mod network_policies;
mod notebook_profiles;
mod number_ranges;
mod origins;
mod patched_pods;
mod patched_values;
mod patches;
mod placement;
mod plugin_configs;
mod properties;
mod read_once;
mod readme;
mod sample;
mod scheduling;
mod schema;
mod starters;
mod teams;
mod tidy;
mod tutorials;
mod typed_objects;
mod why;
mod workloads;
mod yaml;
