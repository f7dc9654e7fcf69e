//! The scripts in real bash with real jq, and fakes of the clouds' command lines (`tests/standins/README.md`).

mod aws;
mod azure;
mod environment;
mod external_settings;
mod gcp;
mod hostile;
mod install;
mod lifecycle;
mod on_prem;
mod verify;

use std::fs;

use crate::support::{compile_text, repository};

/// The clusters whose scripts run, by the names of their files.
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

/// A stage takes only what has no findings. The stages are ignored until chosen: this is not, so that a new finding is
/// met where it was made.
#[test]
fn clusters_have_no_findings() {
    let clusters = clusters();
    assert!(!clusters.is_empty());
    for (name, text) in clusters {
        let outcome = compile_text(&text);
        let said = outcome.text();
        assert!(outcome.findings.is_empty(), "{name}.yaml\n{said}");
    }
}
