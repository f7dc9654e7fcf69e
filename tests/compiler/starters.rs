//! What `gpuc init` writes is a file to build upon: it compiles, and there is nothing to say about it.

use std::fs;

use crate::support::{compile_text, repository};

/// The starters by cloud, as `gpuc init` writes them.
fn starters() -> Vec<(String, String)> {
    let folder = repository().join("compiler/src/cli/starters");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let starter = |file: fs::DirEntry| {
        let name = file.file_name().into_string().unwrap();
        (name, fs::read_to_string(file.path()).unwrap())
    };
    files.map(starter).collect()
}

#[test]
fn every_cloud_has_a_starter() {
    let mut names: Vec<_> = starters().into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(
        names,
        ["aws.yaml", "azure.yaml", "gcp.yaml", "on-prem.yaml"]
    );
}

#[test]
fn every_starter_compiles_without_a_word() {
    for (name, text) in starters() {
        assert!(text.contains("CLUSTER_NAME"), "{name} names no cluster");
        let outcome = compile_text(&text.replace("CLUSTER_NAME", "my-cluster"));
        assert!(outcome.findings.is_empty(), "{name}:\n{}", outcome.text());
        assert!(!outcome.files().is_empty(), "{name} makes nothing");
    }
}
