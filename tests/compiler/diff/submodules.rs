//! Files in submodules: a revision of the parent repository contains only the commit of each submodule.

use tempfile::TempDir;

use super::diff_command::{commit, committed_example, edit, git, gpuc, standard_output};

/// A repository with a submodule that contains a cluster and has a newer commit.
fn repository_with_submodule() -> TempDir {
    let inner = committed_example();
    let outer = TempDir::new().unwrap();
    git(outer.path(), &["init", "-q"]);
    let from = inner.path().to_str().unwrap();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        from,
        "sub",
    ];
    git(outer.path(), &add);
    commit(outer.path());
    let sub = outer.path().join("sub");
    edit(&sub, "replicas: 4", "replicas: 6");
    commit(&sub);
    commit(outer.path());
    outer
}

fn printed_text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn cluster_in_a_submodule_is_not_new() {
    let outer = repository_with_submodule();
    let output = gpuc(
        outer.path(),
        &["diff", "--base", "HEAD~1", "sub", "--out", "sub/clusters"],
    );
    // The base is resolved in the submodule, which contains the path. A hint says so and shows the command for the
    // parent's commit.
    let hint = printed_text(&output);
    assert!(
        standard_output(&output).contains("device-plugin-restarted"),
        "{hint}"
    );
    assert!(
        hint.contains("sub is a submodule, and HEAD~1 is a commit of the submodule's"),
        "{hint}"
    );
    assert!(hint.contains("rev-parse 'HEAD~1:sub')\"`"), "{hint}");
    // For a folder search in the parent repository, the base is resolved there.
    let output = gpuc(outer.path(), &["diff", "--base", "HEAD~1", "."]);
    let hint = printed_text(&output);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{hint}{}",
        standard_output(&output)
    );
    assert!(
        hint.contains("sub/gpu-cluster.yaml is in a submodule"),
        "{hint}"
    );
    let at = hint.find("--base ").unwrap() + "--base ".len();
    let base = &hint[at..at + 10];
    let typed = ["diff", "sub", "--base", base, "--out", "sub/clusters"];
    let output = gpuc(outer.path(), &typed);
    assert!(
        standard_output(&output).contains("device-plugin-restarted"),
        "{}",
        printed_text(&output)
    );
    assert!(
        !printed_text(&output).contains("is a submodule"),
        "{}",
        printed_text(&output)
    );
    // In the submodule's folder, the base is unambiguous.
    let output = gpuc(&outer.path().join("sub"), &["diff", "--base", "HEAD~1"]);
    assert!(
        !printed_text(&output).contains("submodule"),
        "{}",
        printed_text(&output)
    );
    assert!(
        standard_output(&output).contains("device-plugin-restarted"),
        "{}",
        printed_text(&output)
    );
}

#[test]
fn new_submodule_adds_new_clusters() {
    let outer = repository_with_submodule();
    git(outer.path(), &["checkout", "-q", "--orphan", "other"]);
    git(
        outer.path(),
        &["rm", "-q", "--cached", "-r", "sub", ".gitmodules"],
    );
    std::fs::write(outer.path().join("note"), "a").unwrap();
    git(outer.path(), &["add", "note"]);
    git(
        outer.path(),
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-qm",
            "a",
        ],
    );
    let output = gpuc(outer.path(), &["diff", "--base", "HEAD", "."]);
    assert!(
        standard_output(&output).contains("a new cluster"),
        "{}{}",
        standard_output(&output),
        printed_text(&output)
    );
}
