//! What the tests of rules share.

use std::sync::Arc;

use gpuc_schema::config::GpuCluster;

use crate::decode;
use crate::diag::Report;
use crate::load::{Files, load};
use crate::resolve::{Choices, resolve};
use crate::source::Sources;

use super::check;

/// A configuration from the parts of it that matter: indented YAML without its head.
#[track_caller]
pub(super) fn config(yaml: &str) -> Arc<GpuCluster> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = yaml.lines().filter(|line| !line.trim().is_empty());
    let least = lines.clone().map(indent).min().unwrap_or_default();
    let body: Vec<_> = lines.map(|line| &line[least..]).collect();
    let body = body.join("\n");
    let head = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\n\
                kubernetes: {version: \"1.34\"}\n";
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let world = Files::one("a.yaml", &format!("{head}{body}\n"));
    let loaded = load(&world, "a.yaml", &mut sources, &mut report);
    let config = decode::cluster(&loaded[0].root, &mut report).expect("a cluster");
    Arc::new(config)
}

/// What a code says of a configuration, whatever else there is to say.
#[track_caller]
pub(super) fn messages(yaml: &str, id: &str) -> Vec<String> {
    let mut report = Report::default();
    let cluster = resolve(config(yaml), &Choices::default(), &mut report);
    check(&cluster, &mut report);
    let found = report.diagnostics().iter().filter(|it| it.code.id == id);
    found.map(|it| it.message.clone()).collect()
}
