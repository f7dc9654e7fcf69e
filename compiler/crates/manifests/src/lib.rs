//! Checks Kubernetes manifests that users wrote against a cluster.
//!
//! [`Manifests`] are the objects of some files with their spans. [`check`] runs the rules, one file each, and
//! [`fix_files`] applies the edits of diagnostics to the files. Rules do not report values that may come from a
//! template, a patch or another object.
//!
//! An error means that the API server rejects the object, that no node can run it, or that it has no effect; a warning
//! means that it works for some users.

mod allow_annotations;
mod api_validation;
mod api_versions;
mod check;
mod claims;
mod context;
mod corrections;
mod embedded_yaml;
mod fix;
mod gang_scheduling;
mod generated_objects;
mod installed_projects;
mod jobs;
mod json_stream;
mod kustomize;
mod namespace_limits;
mod nest;
mod object;
mod operator_pods;
mod pod;
mod pod_affinity;
mod pod_count;
mod pod_sets;
mod pods;
mod promql;
mod queued_workloads;
mod ray;
mod read;
mod resources;
mod rule;
mod rules;
mod running_workloads;
mod scheduling;
mod services;
mod template;
mod text_edit;
mod unchecked;
mod volumes;
mod yaml_aliases;

pub use check::{check, is_checked, is_reported_by_audit, scheduler_unknown_code};
pub(crate) use context::CheckContext;
pub use fix::{FixedFiles, fix_files};
pub use object::Object;
pub use pod::{Container, Pod};
pub use read::{Manifests, SkipReason, SkippedDocument};
pub use rule::Rule;
pub use rules::{CODES, RULES};
