//! The scripts, read: `shellcheck` finds nothing in them, not even a matter of style.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::golden::{compile_example, examples};
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
    for (name, paths) in examples() {
        write(&name, &compile_example(&paths));
    }
    for (name, config) in [
        ("aws", include_str!("needs_shell/aws.yaml")),
        (
            "aws-existing",
            include_str!("needs_shell/aws-existing.yaml"),
        ),
        ("aws-network", include_str!("needs_shell/aws-network.yaml")),
        ("azure", include_str!("needs_shell/azure.yaml")),
        (
            "azure-existing",
            include_str!("needs_shell/azure-existing.yaml"),
        ),
        ("gcp", include_str!("needs_shell/gcp.yaml")),
        (
            "gcp-existing",
            include_str!("needs_shell/gcp-existing.yaml"),
        ),
        ("on-prem", include_str!("needs_shell/on-prem.yaml")),
    ] {
        let outcome = compile_text(config);
        assert!(outcome.findings.is_empty(), "{}", outcome.text());
        write(name, &outcome);
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
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
