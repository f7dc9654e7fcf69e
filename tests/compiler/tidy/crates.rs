//! The layers of the compiler's crates, and their dependencies.

use std::collections::BTreeMap;
use std::fs;

use crate::support::repository;

/// The compiler's crates in order of their layers, each with the crates of this workspace that it may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("schema", &[]),
    ("syntax", &["schema"]),
    ("kubernetes", &["schema", "syntax"]),
    ("model", &["schema", "syntax"]),
    // These three crates do not depend on each other.
    ("checks", &["schema", "syntax", "kubernetes", "model"]),
    ("clouds", &["schema", "syntax", "model"]),
    ("manifests", &["schema", "syntax", "kubernetes", "model"]),
    ("contract", &["schema", "syntax", "model"]),
    // This crate depends on no cloud and no crate of rules.
    (
        "compile",
        &[
            "schema",
            "syntax",
            "kubernetes",
            "model",
            "manifests",
            "contract",
        ],
    ),
    ("diff", &["schema", "syntax", "model", "compile"]),
    ("live", &["schema", "syntax", "model"]),
    ("import", &["schema", "syntax", "model", "live"]),
    ("prove", &["schema", "syntax", "model"]),
    // The only crate that uses the network.
    ("collect", &["live"]),
];

/// The crates of this workspace in `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    lines
        .filter_map(|line| line.strip_prefix("gpuc-"))
        .map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned())
        .collect()
}

#[test]
fn crates_depend_only_on_lower_layers() {
    let root = repository();
    let crates = fs::read_dir(root.join("compiler/crates")).unwrap();
    let mut manifests: BTreeMap<String, _> = crates
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, path.join("Cargo.toml"))
        })
        .collect();
    manifests.insert("schema".to_owned(), root.join("schema/Cargo.toml"));
    let mut wrong = Vec::new();
    for (name, path) in &manifests {
        let (_, allowed) = CRATES
            .iter()
            .find(|(listed, _)| listed == name)
            .unwrap_or_else(|| panic!("gpuc-{name} is not in CRATES"));
        let dependencies = dependencies(&fs::read_to_string(path).unwrap());
        let unexpected = dependencies
            .iter()
            .filter(|other| !allowed.contains(&other.as_str()));
        wrong.extend(unexpected.map(|other| format!("gpuc-{name} depends on gpuc-{other}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        manifests.len(),
        CRATES.len(),
        "CRATES lists a crate that does not exist"
    );
}
