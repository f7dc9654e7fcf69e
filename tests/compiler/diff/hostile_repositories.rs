//! `gpuc diff` in repositories that run programs, belong to another user, or are damaged.

use std::fs;
use std::path::Path;

use super::diff_command::{committed_example, edit, git, gpuc};

/// Configures every program that git runs for commands that read.
#[cfg(unix)]
fn configure_programs(repository: &Path, program: &Path) {
    let program = program.to_str().unwrap();
    for (key, value) in [
        ("core.fsmonitor", program),
        ("core.hooksPath", program),
        ("diff.external", program),
        ("diff.evil.textconv", program),
        ("diff.evil.command", program),
        ("filter.evil.clean", program),
        ("filter.evil.smudge", program),
        ("filter.evil.required", "true"),
        ("log.showSignature", "true"),
        ("gpg.program", program),
        ("core.pager", program),
    ] {
        git(repository, &["config", key, value]);
    }
    fs::write(
        repository.join(".gitattributes"),
        "* filter=evil diff=evil\n",
    )
    .unwrap();
}

#[cfg(unix)]
#[test]
fn programs_of_a_repository_are_not_run() {
    use std::os::unix::fs::PermissionsExt;

    let folder = committed_example();
    let tools = tempfile::tempdir().unwrap();
    let (program, marker) = (tools.path().join("evil"), tools.path().join("marker"));
    let script = format!("#!/bin/sh\necho \"$@\" >>{}\nexit 0\n", marker.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    configure_programs(folder.path(), &program);
    edit(folder.path(), "count: 2", "count: 3");
    gpuc(folder.path(), &["build", "-q"]);
    // Git compares these files with the commit.
    fs::rename(
        folder.path().join("gpu-cluster.yaml"),
        folder.path().join("demo.gpu-cluster.yaml"),
    )
    .unwrap();
    for arguments in [
        &["diff"][..],
        &["diff", "--base", "HEAD"],
        &["diff", "--base", "HEAD...HEAD"],
    ] {
        let output = gpuc(folder.path(), arguments);
        assert!(matches!(output.status.code(), Some(0..=2)), "{output:?}");
        let run = fs::read_to_string(&marker).unwrap_or_default();
        assert_eq!(run, "", "{arguments:?}");
    }
    // The test can fail: git itself runs them.
    let status = std::process::Command::new("git")
        .current_dir(folder.path())
        .args(["status", "--short"])
        .output();
    assert!(status.unwrap().status.code().is_some());
    assert!(marker.exists());
}

#[test]
fn range_is_not_a_base() {
    let folder = committed_example();
    let output = gpuc(folder.path(), &["diff", "--base", "HEAD..HEAD"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    for expected in [
        "`HEAD..HEAD` is a range, not one revision",
        "name one revision, `HEAD`, or the merge base of both, `HEAD...HEAD`",
    ] {
        assert!(message.contains(expected), "{message}");
    }
    // The help works.
    for base in ["HEAD", "HEAD...HEAD"] {
        let output = gpuc(folder.path(), &["diff", "--base", base]);
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn damaged_repository_is_described_by_git() {
    let folder = committed_example();
    let objects = folder.path().join(".git/objects");
    for object in fs::read_dir(&objects).unwrap() {
        let object = object.unwrap().path();
        for file in fs::read_dir(&object).into_iter().flatten() {
            let file = file.unwrap().path();
            fs::remove_file(&file).unwrap();
            fs::write(&file, "").unwrap();
        }
    }
    let output = gpuc(folder.path(), &["diff"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        message.contains("is empty") || message.contains("corrupt"),
        "{message}"
    );
}

/// A base that cannot be read is not an empty one: a gate in CI must not pass.
#[test]
fn damaged_file_of_the_base_is_an_error() {
    let folder = committed_example();
    let output = std::process::Command::new("git")
        .current_dir(folder.path())
        .args(["rev-parse", "HEAD:gpu-cluster.yaml"])
        .output()
        .unwrap();
    let object = String::from_utf8(output.stdout).unwrap();
    let (first, rest) = object.trim().split_at(2);
    let file = folder.path().join(".git/objects").join(first).join(rest);
    fs::remove_file(&file).unwrap();
    for damaged in [true, false] {
        if damaged {
            fs::write(&file, "damaged").unwrap();
        } else {
            fs::remove_file(&file).unwrap();
        }
        let output = gpuc(folder.path(), &["diff"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{output:?}");
        let expected = "git cannot read gpu-cluster.yaml of ";
        assert!(message.contains(expected), "{message}");
    }
}

/// `safe.directory`: git refuses a repository of another user, and says what to do.
#[test]
fn repository_of_another_user_is_described_by_git() {
    let folder = committed_example();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_gpuc"))
        .current_dir(folder.path())
        .arg("diff")
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("dubious ownership"), "{message}");
    assert!(message.contains("safe.directory"), "{message}");
    assert!(!message.contains("is not in a Git repository"), "{message}");
}
