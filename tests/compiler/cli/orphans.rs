//! A run handles only the trees of its own input files.

use super::fleets::{cluster_named, fleet, list_clusters};
use super::{GOOD, Workspace};

#[test]
fn partial_fleet_ignores_other_clusters() {
    let place = fleet();
    place.run(&["build", "fleet", "-q"]).expect_silent_success();
    for part in [
        "fleet/one",
        "fleet/more",
        "fleet/two.gpu-cluster.yaml",
        "fleet/more/gpu-cluster.yaml",
    ] {
        place
            .run(&["build", part, "--check"])
            .expect_silent_success();
        let ran = place.run(&["build", part, "--prune"]).expect_code(0);
        assert!(!ran.stderr.contains("note: "), "{part}: {}", ran.stderr);
        assert_eq!(
            list_clusters(&place),
            ["four", "one", "three", "two"],
            "{part}"
        );
    }
    place
        .run(&["build", "fleet", "--check"])
        .expect_silent_success();
}

#[test]
fn removed_cluster_is_an_orphan_for_its_file() {
    let place = fleet();
    place.run(&["build", "fleet", "-q"]).expect_silent_success();
    let file = "fleet/more/gpu-cluster.yaml";
    let (three, _) = place
        .read(file)
        .split_once("---")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    place.write(file, &three);
    for part in [file, "fleet/more", "fleet"] {
        let ran = place.run(&["build", part, "--check"]).expect_code(1);
        assert_eq!(ran.stdout, "orphan: clusters/four\n", "{part}");
    }
    place
        .run(&["build", "fleet/one", "--check"])
        .expect_silent_success();
    // Findings for programs have standard output for themselves.
    let ran = place
        .run(&["build", "fleet", "--check", "--format", "json"])
        .expect_code(1);
    let all: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(all["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(all["findings"][0]["file"], "clusters/four/gpuc.lock.json");
    assert_eq!(ran.stderr, "orphan: clusters/four\n");
    place
        .run(&["build", file, "--prune", "-q"])
        .expect_silent_success();
    assert_eq!(list_clusters(&place), ["one", "three", "two"]);
}

#[test]
fn renamed_cluster_leaves_its_old_tree() {
    let place = Workspace::with(GOOD);
    place.build();
    place.write("gpu-cluster.yaml", &cluster_named("new"));
    let ran = place.run(&["build"]).expect_code(0);
    assert!(
        ran.stderr
            .contains("note: no cluster in the input generates clusters/demo"),
        "{}",
        ran.stderr
    );
    place
        .run(&["build", "--prune", "-q"])
        .expect_silent_success();
    assert_eq!(list_clusters(&place), ["new"]);
}

#[test]
fn skipped_file_is_not_removed() {
    let place = fleet();
    place.write("fleet/.hidden/gpu-cluster.yaml", &cluster_named("hidden"));
    place
        .run(&["build", "fleet/.hidden/gpu-cluster.yaml", "-q"])
        .expect_silent_success();
    place
        .run(&["build", "fleet", "--prune", "-q"])
        .expect_silent_success();
    assert_eq!(
        list_clusters(&place),
        ["four", "hidden", "one", "three", "two"]
    );
}

#[test]
fn recorded_paths_ignore_the_working_directory() {
    let place = fleet();
    place.run(&["build", "fleet", "-q"]).expect_silent_success();
    let lock = place.read("clusters/two/gpuc.lock.json");
    let wanted = "\"from\": \"../../fleet/two.gpu-cluster.yaml\"";
    assert!(lock.contains(wanted), "{lock}");
    let before = place.files("clusters");
    let mut command = place.command(&["build", "..", "-q", "-o", "../../clusters"]);
    command.current_dir(place.path("fleet/one"));
    assert!(command.status().unwrap().success());
    let (input, out) = (place.path("fleet"), place.path("clusters"));
    let elsewhere = Workspace::empty();
    let args = [
        "build",
        "-q",
        input.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ];
    elsewhere.run(&args).expect_silent_success();
    assert_eq!(place.files("clusters"), before);
}

#[test]
fn tree_of_unknown_input_is_unchanged() {
    let (inputs, place) = (fleet(), Workspace::empty());
    let input = inputs.path("fleet");
    let input = input.to_str().unwrap();
    place.run(&["build", input, "-q"]).expect_silent_success();
    let lock = place.read("clusters/two/gpuc.lock.json");
    assert!(!lock.contains("\"from\""), "a path of this machine: {lock}");
    std::fs::remove_file(inputs.path("fleet/two.gpu-cluster.yaml")).unwrap();
    let ran = place.run(&["build", input, "--prune"]).expect_code(0);
    assert!(
        ran.stderr
            .contains("note: the lock of clusters/two does not name its input file"),
        "{}",
        ran.stderr
    );
    assert_eq!(list_clusters(&place).len(), 4);
}

#[cfg(unix)]
#[test]
fn link_to_a_cluster_folder_is_not_followed() {
    let place = Workspace::with(GOOD);
    for folder in ["clusters", "elsewhere"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    for target in ["../elsewhere", "../nowhere"] {
        let link = place.path("clusters/demo");
        std::os::unix::fs::symlink(target, &link).unwrap();
        for args in [&["build"][..], &["build", "--force"], &["build", "--check"]] {
            let ran = place.run(args).expect_code(3);
            assert!(
                ran.stderr.contains("clusters/demo: is a link"),
                "{}",
                ran.stderr
            );
        }
        assert!(place.files("elsewhere").is_empty() && !place.path("nowhere").exists());
        std::fs::remove_file(link).unwrap();
    }
}

#[test]
fn cluster_does_not_take_over_a_tree_of_another_file() {
    let place = Workspace::empty();
    place.write("a/gpu-cluster.yaml", GOOD);
    place.write("b/gpu-cluster.yaml", &GOOD.replace("lab", "office"));
    place.run(&["build", "a", "-q"]).expect_silent_success();
    let built = place.files("clusters");
    let ran = place.run(&["build", "b"]).expect_code(3);
    for word in ["a/gpu-cluster.yaml", "help: rename one of the two clusters"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert_eq!(place.files("clusters"), built);
    // A cluster that has moved is no other cluster.
    std::fs::rename(place.path("a"), place.path("c")).unwrap();
    place.run(&["build", "c", "-q"]).expect_silent_success();
    place
        .run(&["build", "b", "-q", "--force"])
        .expect_silent_success();
}

#[test]
fn removed_pool_stays_in_the_cloud() {
    let two = GOOD.replace(
        "cloud: {onPrem: {context: lab}}",
        "cloud: {gcp: {project: my-project-1, location: us-central1-a, cluster: {existing: {}}}}",
    );
    let two = two.replace(", hosts: [node-1]", ", machine: e2-standard-4");
    let two = two.replace("A30, perNode: 2}, hosts: [node-2]", "L4, perNode: 1}");
    let place = Workspace::with(&two);
    place.build();
    let one: Vec<_> = two
        .lines()
        .filter(|line| !line.contains("name: gpu,"))
        .collect();
    let one = one.into_iter().filter(|line| !line.starts_with("stack"));
    place.write("gpu-cluster.yaml", &one.collect::<Vec<_>>().join("\n"));
    let ran = place.run(&["build"]).expect_code(0);
    assert!(
        ran.stderr
            .contains("note: cloud/pool-gpu.sh was removed, but not the cloud resources"),
        "{}",
        ran.stderr
    );
}
