//! Many clusters in a folder.

use super::{GOOD, Workspace};

pub(super) fn cluster_named(name: &str) -> String {
    GOOD.replace("name: demo", &format!("name: {name}"))
}

/// Two standalone clusters, and two with a common base.
pub(super) fn fleet() -> Workspace {
    let place = Workspace::empty();
    place.write("fleet/one/gpu-cluster.yaml", &cluster_named("one"));
    place.write("fleet/two.gpu-cluster.yaml", &cluster_named("two"));
    let base = cluster_named("base").replace("metadata: {name: base}\n", "");
    place.write("fleet/base/gpu-cluster.yaml", &base);
    let upon = |name: &str| {
        format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: {name}}}\nbase: \
             ../base/gpu-cluster.yaml\n"
        )
    };
    let both = format!("{}---\n{}", upon("three"), upon("four"));
    place.write("fleet/more/gpu-cluster.yaml", &both);
    place.write("fleet/.hidden/gpu-cluster.yaml", "not: read\n");
    place.write("fleet/other.yaml", "not: read\n");
    place
}

pub(super) fn list_clusters(place: &Workspace) -> Vec<String> {
    let files = place.files("clusters");
    let names = files
        .keys()
        .map(|path| path.split('/').next().unwrap().to_owned());
    let mut names: Vec<_> = names.collect();
    names.dedup();
    names
}

#[test]
fn all_clusters_of_a_folder_are_built_without_bases() {
    let place = fleet();
    let ran = place.run(&["build", "fleet"]).expect_code(0);
    assert_eq!(list_clusters(&place), ["four", "one", "three", "two"]);
    let lines: Vec<_> = ran.stderr.lines().collect();
    let names: Vec<_> = lines
        .iter()
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    assert_eq!(names, ["three", "four", "one", "two", "next"]);
    place
        .run(&["build", "fleet", "--check"])
        .expect_silent_success();
    // The trees that are there are no input.
    place.run(&["build", "-q"]).expect_silent_success();
    let ran = place.run(&["check", "fleet"]).expect_code(0);
    assert!(
        ran.stdout.is_empty() && ran.stderr.starts_with("4 clusters"),
        "{}",
        ran.stderr
    );
}

#[test]
fn removed_cluster_is_named_and_pruned() {
    let place = fleet();
    place.run(&["build", "fleet", "-q"]).expect_silent_success();
    std::fs::remove_file(place.path("fleet/two.gpu-cluster.yaml")).unwrap();
    place.write("clusters/two/notes.md", "mine\n");
    let ran = place.run(&["build", "fleet"]).expect_code(0);
    assert!(
        ran.stderr
            .contains("note: no cluster in the input generates clusters/two"),
        "{}",
        ran.stderr
    );
    let ran = place.run(&["build", "fleet", "--check"]).expect_code(1);
    assert_eq!(ran.stdout, "orphan: clusters/two\n");
    place.run(&["build", "fleet", "--prune"]).expect_code(0);
    assert_eq!(
        place.files("clusters/two").len(),
        1,
        "what is not gpuc's stays"
    );
    place
        .run(&["build", "fleet", "--check"])
        .expect_silent_success();
    // One file says nothing of the others.
    let ran = place
        .run(&["build", "fleet/one/gpu-cluster.yaml", "--prune"])
        .expect_code(0);
    assert!(!ran.stderr.contains("removed"), "{}", ran.stderr);
    assert_eq!(list_clusters(&place).len(), 4);
}

#[test]
fn edited_files_are_not_pruned() {
    let place = fleet();
    place.run(&["build", "fleet", "-q"]).expect_silent_success();
    std::fs::remove_file(place.path("fleet/two.gpu-cluster.yaml")).unwrap();
    place.write("clusters/two/README.md", "mine\n");
    let ran = place.run(&["build", "fleet", "--prune"]).expect_code(1);
    assert!(
        ran.stderr
            .contains("clusters/two/README.md: edited by hand"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.read("clusters/two/README.md"), "mine\n");
    place
        .run(&["build", "fleet", "--prune", "--force", "-q"])
        .expect_silent_success();
    assert!(!place.path("clusters/two").exists());
}

#[test]
fn duplicate_cluster_names_are_rejected() {
    let place = fleet();
    place.write("fleet/two.gpu-cluster.yaml", &cluster_named("one"));
    let ran = place.run(&["build", "fleet"]).expect_code(2);
    assert!(ran.stderr.contains("cluster-name-taken"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("fleet/one/gpu-cluster.yaml:3:"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("fleet/two.gpu-cluster.yaml:3:"),
        "{}",
        ran.stderr
    );
    assert!(!place.path("clusters").exists());
}

#[test]
fn invalid_cluster_blocks_all() {
    let place = fleet();
    place.write("fleet/two.gpu-cluster.yaml", "kind: [\n");
    let ran = place.run(&["build", "fleet"]).expect_code(2);
    assert!(
        ran.stderr.contains("fleet/two.gpu-cluster.yaml"),
        "{}",
        ran.stderr
    );
    assert!(!place.path("clusters").exists());
}

#[test]
fn folder_without_clusters_is_rejected() {
    let place = Workspace::empty();
    place.write("empty/readme.txt", "");
    let ran = place.run(&["build", "empty"]).expect_code(3);
    let help = "in empty\nhelp: run `gpuc init` to create a starter file\n";
    assert!(ran.stderr.ends_with(help), "{}", ran.stderr);
    place.run(&["build"]).expect_code(3);
    for command in ["build", "check", "expand"] {
        let ran = place.run(&[command, "none.yaml"]).expect_code(3);
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("none.yaml"),
            "{}",
            ran.stderr
        );
    }
}
