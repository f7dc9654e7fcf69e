//! Generated files and tables, compared with the schemas, charts and tables of other projects.

mod api_types;
mod catalog;
mod crds;
mod custom_types;
mod eksctl;
mod gitops;
mod helm;
mod helm_images;
mod helm_keys;
mod jupyterhub;
mod kubernetes;
mod kueue;
mod mutability;
mod yaml_1_1;

use std::fmt::Display;

/// Panics with a line for each error, if there are any.
fn assert_none(wrong: &[impl Display]) {
    let lines: Vec<_> = wrong.iter().take(40).map(ToString::to_string).collect();
    assert!(
        wrong.is_empty(),
        "{} findings:\n{}",
        wrong.len(),
        lines.join("\n")
    );
}
