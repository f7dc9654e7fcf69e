//! The scripts, run with real bash and jq and with fakes of the clouds' CLIs (`tests/standins/README.md`).

mod aws;
mod aws_access;
mod aws_addons;
mod aws_capacity;
mod aws_states;
mod azure;
mod azure_states;
mod control_planes;
mod drift;
mod environment;
mod external_settings;
mod gcp;
mod gcp_networks;
mod gcp_states;
mod hostile;
mod install;
mod lifecycle;
mod on_prem;
mod states;
mod transitions;
mod verify;

use std::fs;

use crate::support::{compile_text, repository};

/// The clusters whose scripts run, by file name.
pub(crate) fn clusters() -> Vec<(String, String)> {
    let folder = repository().join("tests/compiler/needs_shell");
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let inputs = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    let named = inputs.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    let mut clusters: Vec<_> = named.collect();
    clusters.sort();
    clusters
}

/// An environment requires a cluster without findings. This test is not ignored, so that a default run detects a new
/// finding.
#[test]
fn clusters_have_no_findings() {
    let clusters = clusters();
    assert!(!clusters.is_empty());
    for (name, text) in clusters {
        let outcome = compile_text(&text);
        let findings = outcome.text();
        assert!(outcome.findings.is_empty(), "{name}.yaml\n{findings}");
    }
}
