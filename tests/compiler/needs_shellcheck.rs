//! `shellcheck` reports nothing for the scripts, at any severity including style.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use crate::needs_shell::clusters;
use crate::support::examples::compiled_examples;
use crate::support::{Outcome, compile_text};

#[test]
#[ignore = "needs shellcheck"]
fn scripts_are_clean() {
    let folder = TempDir::new().unwrap();
    let mut contents = BTreeSet::new();
    let mut write = |name: &str, outcome: &Outcome| {
        let mut scripts = Vec::new();
        for (path, text) in outcome.files() {
            let path = folder.path().join(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
            let is_script = path.extension().is_some_and(|extension| extension == "sh");
            if is_script && contents.insert(text) {
                scripts.push(path);
            }
        }
        scripts
    };
    let clusters = clusters();
    let clusters = clusters.iter();
    let clusters: Vec<_> = clusters
        .flat_map(|(name, text)| write(name, &compile_text(text)))
        .collect();
    let examples = compiled_examples();
    let examples: Vec<_> = examples
        .iter()
        .flat_map(|(name, outcome)| write(name, outcome))
        .collect();
    assert!(clusters.len() > 50, "{} scripts", clusters.len());
    assert!(examples.len() > 150, "{} scripts", examples.len());
    // The analysis of the data flow takes two thirds of the time. The clusters use every function of the scripts.
    check(&clusters, &[]);
    check(&examples, &["--extended-analysis=false"]);
}

/// Runs shellcheck on the scripts, on all processors.
fn check(scripts: &[PathBuf], arguments: &[&str]) {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let run = |scripts: &[PathBuf]| {
        let run = Command::new("shellcheck")
            .args([
                "--severity=style",
                "--external-sources",
                "--norc",
                "--format=gcc",
            ])
            .args(arguments)
            .args(scripts)
            .output();
        let run = run.expect("this test needs shellcheck");
        let output = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success(),
            "{output}{}",
            String::from_utf8_lossy(&run.stderr)
        );
    };
    thread::scope(|scope| {
        for some in scripts.chunks(scripts.len().div_ceil(processors)) {
            scope.spawn(move || run(some));
        }
    });
}
