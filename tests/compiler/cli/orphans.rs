//! A run changes only the trees of its own input files.

use super::fleets::{cluster_named, fleet, list_clusters};
use super::{GOOD, Workspace};

#[test]
fn partial_fleet_ignores_other_clusters() {
    let workspace = fleet();
    workspace
        .run(&["build", "fleet", "-q"])
        .expect_silent_success();
    for part in [
        "fleet/one",
        "fleet/more",
        "fleet/two.gpu-cluster.yaml",
        "fleet/more/gpu-cluster.yaml",
    ] {
        workspace
            .run(&["build", part, "--check"])
            .expect_silent_success();
        let result = workspace.run(&["build", part, "--prune"]).expect_code(0);
        assert!(
            !result.stderr.contains("note: "),
            "{part}: {}",
            result.stderr
        );
        assert_eq!(
            list_clusters(&workspace),
            ["four", "one", "three", "two"],
            "{part}"
        );
    }
    workspace
        .run(&["build", "fleet", "--check"])
        .expect_silent_success();
}

#[test]
fn removed_cluster_is_an_orphan_for_its_file() {
    let workspace = fleet();
    workspace
        .run(&["build", "fleet", "-q"])
        .expect_silent_success();
    let file = "fleet/more/gpu-cluster.yaml";
    let (three, _) = workspace
        .read(file)
        .split_once("---")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    workspace.write(file, &three);
    for part in [file, "fleet/more", "fleet"] {
        let result = workspace.run(&["build", part, "--check"]).expect_code(1);
        assert_eq!(result.stdout, "orphan: clusters/four\n", "{part}");
    }
    workspace
        .run(&["build", "fleet/one", "--check"])
        .expect_silent_success();
    // Machine-readable findings are the only content of standard output.
    let result = workspace
        .run(&["build", "fleet", "--check", "--format", "json"])
        .expect_code(1);
    let all: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(all["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(all["findings"][0]["file"], "clusters/four/gpuc.lock.json");
    assert_eq!(result.stderr, "orphan: clusters/four\n");
    workspace
        .run(&["build", file, "--prune", "-q"])
        .expect_silent_success();
    assert_eq!(list_clusters(&workspace), ["one", "three", "two"]);
}

#[test]
fn renamed_cluster_leaves_its_old_tree() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    workspace.write("gpu-cluster.yaml", &cluster_named("new"));
    let result = workspace.run(&["build"]).expect_code(0);
    assert!(
        result
            .stderr
            .contains("note: no cluster in the input generates clusters/demo"),
        "{}",
        result.stderr
    );
    workspace
        .run(&["build", "--prune", "-q"])
        .expect_silent_success();
    assert_eq!(list_clusters(&workspace), ["new"]);
}

#[test]
fn skipped_file_is_not_removed() {
    let workspace = fleet();
    workspace.write("fleet/.hidden/gpu-cluster.yaml", &cluster_named("hidden"));
    workspace
        .run(&["build", "fleet/.hidden/gpu-cluster.yaml", "-q"])
        .expect_silent_success();
    workspace
        .run(&["build", "fleet", "--prune", "-q"])
        .expect_silent_success();
    assert_eq!(
        list_clusters(&workspace),
        ["four", "hidden", "one", "three", "two"]
    );
}

#[test]
fn recorded_paths_ignore_the_working_directory() {
    let workspace = fleet();
    workspace
        .run(&["build", "fleet", "-q"])
        .expect_silent_success();
    let lock = workspace.read("clusters/two/gpuc.lock.json");
    let expected = "\"from\": \"../../fleet/two.gpu-cluster.yaml\"";
    assert!(lock.contains(expected), "{lock}");
    let before = workspace.files("clusters");
    let mut command = workspace.command(&["build", "..", "-q", "-o", "../../clusters"]);
    command.current_dir(workspace.path("fleet/one"));
    assert!(command.status().unwrap().success());
    let (input, out) = (workspace.path("fleet"), workspace.path("clusters"));
    let elsewhere = Workspace::empty();
    let args = [
        "build",
        "-q",
        input.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ];
    elsewhere.run(&args).expect_silent_success();
    assert_eq!(workspace.files("clusters"), before);
}

#[test]
fn tree_of_unknown_input_is_unchanged() {
    let (inputs, workspace) = (fleet(), Workspace::empty());
    let input = inputs.path("fleet");
    let input = input.to_str().unwrap();
    workspace
        .run(&["build", input, "-q"])
        .expect_silent_success();
    let lock = workspace.read("clusters/two/gpuc.lock.json");
    assert!(!lock.contains("\"from\""), "a path of this machine: {lock}");
    std::fs::remove_file(inputs.path("fleet/two.gpu-cluster.yaml")).unwrap();
    let result = workspace.run(&["build", input, "--prune"]).expect_code(0);
    assert!(
        result
            .stderr
            .contains("note: the lock of clusters/two does not name its input file"),
        "{}",
        result.stderr
    );
    assert_eq!(list_clusters(&workspace).len(), 4);
}

#[cfg(unix)]
#[test]
fn link_to_a_cluster_folder_is_not_followed() {
    let workspace = Workspace::with(GOOD);
    for folder in ["clusters", "elsewhere"] {
        std::fs::create_dir(workspace.path(folder)).unwrap();
    }
    for target in ["../elsewhere", "../nowhere"] {
        let link = workspace.path("clusters/demo");
        std::os::unix::fs::symlink(target, &link).unwrap();
        for args in [&["build"][..], &["build", "--force"], &["build", "--check"]] {
            let result = workspace.run(args).expect_code(3);
            assert!(
                result.stderr.contains("clusters/demo: is a link"),
                "{}",
                result.stderr
            );
        }
        assert!(workspace.files("elsewhere").is_empty() && !workspace.path("nowhere").exists());
        std::fs::remove_file(link).unwrap();
    }
}

#[test]
fn cluster_does_not_take_over_a_tree_of_another_file() {
    let workspace = Workspace::empty();
    workspace.write("a/gpu-cluster.yaml", GOOD);
    workspace.write("b/gpu-cluster.yaml", &GOOD.replace("lab", "office"));
    workspace.run(&["build", "a", "-q"]).expect_silent_success();
    let built = workspace.files("clusters");
    let result = workspace.run(&["build", "b"]).expect_code(3);
    for word in ["a/gpu-cluster.yaml", "help: rename one of the two clusters"] {
        assert!(result.stderr.contains(word), "{word}: {}", result.stderr);
    }
    assert_eq!(workspace.files("clusters"), built);
    // A cluster whose folder was renamed is still the same cluster.
    std::fs::rename(workspace.path("a"), workspace.path("c")).unwrap();
    workspace.run(&["build", "c", "-q"]).expect_silent_success();
    workspace
        .run(&["build", "b", "-q", "--force"])
        .expect_silent_success();
}

#[test]
fn removed_pool_stays_in_the_cloud() {
    let two = GOOD.replace(
        "cloud: {onPrem: {context: lab}}",
        "cloud: {gcp: {project: my-project-1, location: us-central1-a, nodeServiceAccount: gke-nodes@my-project-1.iam.gserviceaccount.com, cluster: {existing: {}}}}",
    );
    let two = two.replace(", hosts: [node-1]", ", machine: e2-standard-4");
    let two = two.replace("A30, perNode: 2}, hosts: [node-2]", "L4, perNode: 1}");
    let workspace = Workspace::with(&two);
    workspace.build();
    let one: Vec<_> = two
        .lines()
        .filter(|line| !line.contains("name: gpu,"))
        .collect();
    let one = one.into_iter().filter(|line| !line.starts_with("stack"));
    workspace.write("gpu-cluster.yaml", &one.collect::<Vec<_>>().join("\n"));
    let result = workspace.run(&["build"]).expect_code(0);
    assert!(
        result
            .stderr
            .contains("note: cloud/pool-gpu.sh was removed, but not the cloud resources"),
        "{}",
        result.stderr
    );
}
