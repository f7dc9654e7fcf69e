//! `shellcheck` reports nothing for the scripts, at any severity including style.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::needs_shell::clusters;
use crate::support::examples::compiled_examples;
use crate::support::{Outcome, compile_text};

#[test]
#[ignore = "needs shellcheck"]
fn scripts_are_clean() {
    let folder = TempDir::new().unwrap();
    let mut scripts = Vec::new();
    let mut write = |name: &str, outcome: &Outcome| {
        for (path, contents) in outcome.files() {
            let path = folder.path().join(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, contents).unwrap();
            if path.extension().is_some_and(|extension| extension == "sh") {
                scripts.push(path);
            }
        }
    };
    for (name, outcome) in compiled_examples() {
        write(name, outcome);
    }
    for (name, text) in clusters() {
        write(&name, &compile_text(&text));
    }
    assert!(scripts.len() > 50, "{} scripts", scripts.len());
    let run = Command::new("shellcheck")
        .args([
            "--severity=style",
            "--external-sources",
            "--norc",
            "--format=gcc",
        ])
        .args(&scripts)
        .output();
    let run = run.expect("this test needs shellcheck");
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success(),
        "{output}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
