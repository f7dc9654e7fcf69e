//! Many clusters in a folder.

use super::{GOOD, Workspace};

pub(super) fn cluster_named(name: &str) -> String {
    GOOD.replace("name: demo", &format!("name: {name}"))
}

/// Two standalone clusters, and two clusters with a common base.
pub(super) fn fleet() -> Workspace {
    let workspace = Workspace::empty();
    workspace.write("fleet/one/gpu-cluster.yaml", &cluster_named("one"));
    workspace.write("fleet/two.gpu-cluster.yaml", &cluster_named("two"));
    let base = cluster_named("base").replace("metadata: {name: base}\n", "");
    workspace.write("fleet/base/gpu-cluster.yaml", &base);
    let with_base = |name: &str| {
        format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: {name}}}\nbase: \
             ../base/gpu-cluster.yaml\n"
        )
    };
    let both = format!("{}---\n{}", with_base("three"), with_base("four"));
    workspace.write("fleet/more/gpu-cluster.yaml", &both);
    workspace.write("fleet/.hidden/gpu-cluster.yaml", "not: read\n");
    workspace.write("fleet/other.yaml", "not: read\n");
    workspace
}

pub(super) fn list_clusters(workspace: &Workspace) -> Vec<String> {
    let files = workspace.files("clusters");
    let names = files
        .keys()
        .map(|path| path.split('/').next().unwrap().to_owned());
    let mut names: Vec<_> = names.collect();
    names.dedup();
    names
}

#[test]
fn all_clusters_of_a_folder_are_built_without_bases() {
    let workspace = fleet();
    let result = workspace.run(&["build", "fleet"]).expect_code(0);
    assert_eq!(list_clusters(&workspace), ["four", "one", "three", "two"]);
    let lines: Vec<_> = result.stderr.lines().collect();
    let names: Vec<_> = lines
        .iter()
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    assert_eq!(names, ["three", "four", "one", "two", "next"]);
    workspace
        .run(&["build", "fleet", "--check"])
        .expect_silent_success();
    // Existing trees are not input.
    workspace.run(&["build", "-q"]).expect_silent_success();
    let result = workspace.run(&["check", "fleet"]).expect_code(0);
    assert!(
        result.stdout.is_empty() && result.stderr.starts_with("4 clusters"),
        "{}",
        result.stderr
    );
}

#[test]
fn removed_cluster_is_named_and_pruned() {
    let workspace = fleet();
    workspace
        .run(&["build", "fleet", "-q"])
        .expect_silent_success();
    std::fs::remove_file(workspace.path("fleet/two.gpu-cluster.yaml")).unwrap();
    workspace.write("clusters/two/notes.md", "mine\n");
    let result = workspace.run(&["build", "fleet"]).expect_code(0);
    assert!(
        result
            .stderr
            .contains("note: no cluster in the input generates clusters/two"),
        "{}",
        result.stderr
    );
    let result = workspace.run(&["build", "fleet", "--check"]).expect_code(1);
    assert_eq!(result.stdout, "orphan: clusters/two\n");
    workspace.run(&["build", "fleet", "--prune"]).expect_code(0);
    assert_eq!(
        workspace.files("clusters/two").len(),
        1,
        "a file that gpuc did not generate was removed"
    );
    workspace
        .run(&["build", "fleet", "--check"])
        .expect_silent_success();
    // A run with one file does not remove the trees of other files.
    let result = workspace
        .run(&["build", "fleet/one/gpu-cluster.yaml", "--prune"])
        .expect_code(0);
    assert!(!result.stderr.contains("removed"), "{}", result.stderr);
    assert_eq!(list_clusters(&workspace).len(), 4);
}

#[test]
fn edited_files_are_not_pruned() {
    let workspace = fleet();
    workspace
        .run(&["build", "fleet", "-q"])
        .expect_silent_success();
    std::fs::remove_file(workspace.path("fleet/two.gpu-cluster.yaml")).unwrap();
    workspace.write("clusters/two/README.md", "mine\n");
    let result = workspace.run(&["build", "fleet", "--prune"]).expect_code(1);
    assert!(
        result
            .stderr
            .contains("clusters/two/README.md: edited by hand"),
        "{}",
        result.stderr
    );
    assert_eq!(workspace.read("clusters/two/README.md"), "mine\n");
    workspace
        .run(&["build", "fleet", "--prune", "--force", "-q"])
        .expect_silent_success();
    assert!(!workspace.path("clusters/two").exists());
}

#[test]
fn duplicate_cluster_names_are_rejected() {
    let workspace = fleet();
    workspace.write("fleet/two.gpu-cluster.yaml", &cluster_named("one"));
    let result = workspace.run(&["build", "fleet"]).expect_code(2);
    assert!(
        result.stderr.contains("cluster-name-taken"),
        "{}",
        result.stderr
    );
    assert!(
        result.stderr.contains("fleet/one/gpu-cluster.yaml:3:"),
        "{}",
        result.stderr
    );
    assert!(
        result.stderr.contains("fleet/two.gpu-cluster.yaml:3:"),
        "{}",
        result.stderr
    );
    assert!(!workspace.path("clusters").exists());
}

#[test]
fn invalid_cluster_blocks_all() {
    let workspace = fleet();
    workspace.write("fleet/two.gpu-cluster.yaml", "kind: [\n");
    let result = workspace.run(&["build", "fleet"]).expect_code(2);
    assert!(
        result.stderr.contains("fleet/two.gpu-cluster.yaml"),
        "{}",
        result.stderr
    );
    assert!(!workspace.path("clusters").exists());
}

#[test]
fn folder_without_clusters_is_rejected() {
    let workspace = Workspace::empty();
    workspace.write("empty/readme.txt", "");
    let result = workspace.run(&["build", "empty"]).expect_code(3);
    let help = "in empty\nhelp: run `gpuc init --cloud aws` (or azure, gcp, on-prem) to create a starter file\n";
    assert!(result.stderr.ends_with(help), "{}", result.stderr);
    workspace.run(&["build"]).expect_code(3);
    for command in ["build", "check", "expand"] {
        let result = workspace.run(&[command, "none.yaml"]).expect_code(3);
        assert!(
            result.stdout.is_empty() && result.stderr.contains("none.yaml"),
            "{}",
            result.stderr
        );
    }
}
