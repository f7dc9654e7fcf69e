//! `gpuc build` and the tree that it manages.

use std::fs;

use super::{GOOD, Workspace, clean_build, first_file, modification_times, without_gpus};

#[test]
fn fresh_tree_is_unchanged() {
    let place = Workspace::with(GOOD);
    let ran = place.run(&["build"]).expect_code(0);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr
            .starts_with("demo: 2 pools · 2 nodes · 2 GPUs · "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("next: review clusters, commit it"),
        "{}",
        ran.stderr
    );
    place.run(&["build", "--check"]).expect_silent_success();
    let before = modification_times(&place.path("clusters"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    let again = place.run(&["build"]).expect_code(0);
    assert!(again.stderr.contains("(unchanged)"), "{}", again.stderr);
    assert!(!again.stderr.contains("next:"), "{}", again.stderr);
    assert_eq!(modification_times(&place.path("clusters")), before);
}

#[test]
fn lock_change_names_its_reason() {
    let place = Workspace::with(GOOD);
    place.build();
    let lock = "clusters/demo/gpuc.lock.json";
    let older = place
        .read(lock)
        .replacen("\"gpuc\": \"", "\"gpuc\": \"0.0.0-", 1);
    place.write(lock, &older);
    let ran = place.run(&["build", "--check"]).expect_code(1);
    let wanted = format!("stale: {lock} (written by another version of gpuc)\n");
    assert_eq!(ran.stdout, wanted);
    let ran = place.run(&["build"]).expect_code(0);
    let wanted = "(unchanged except the lock: written by another version of gpuc)";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    place.run(&["build", "--check"]).expect_silent_success();
}

#[cfg(unix)]
#[test]
fn script_without_execute_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let place = Workspace::with(GOOD);
    place.build();
    let script = place.path("clusters/demo/cloud/apply.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = place.run(&["build", "--check"]).expect_code(1);
    let wanted = "stale: clusters/demo/cloud/apply.sh (only the executable bit differs)\n";
    assert_eq!(ran.stdout, wanted);
}

#[test]
fn differences_are_in_machine_readable_output() {
    let place = Workspace::with(GOOD);
    place.build();
    place.write("clusters/demo/README.md", "mine\n");
    let check = |format: &str| {
        let ran = place.run(&["build", "--check", "--format", format]);
        ran.expect_code(1).stdout
    };
    let all: serde_json::Value = serde_json::from_str(&check("json")).unwrap();
    let found = &all["findings"][0];
    assert_eq!(found["name"], "tree-stale");
    assert_eq!(
        (&found["file"], &found["line"]),
        (&"clusters/demo/README.md".into(), &1.into())
    );
    assert_eq!(found["message"], "this file is edited by hand");
    let all: serde_json::Value = serde_json::from_str(&check("sarif")).unwrap();
    assert_eq!(all["runs"][0]["results"][0]["ruleId"], "GPUC0301");
    assert!(check("github").starts_with("::error file=clusters/demo/README.md,line=1,"));
    assert!(check("markdown").contains("clusters/demo/README.md"));
    // A tree without an input is one of them, and a clean one has an empty document.
    place.run(&["build", "--force", "-q"]).expect_code(0);
    let all: serde_json::Value = serde_json::from_str(
        &place
            .run(&["build", "--check", "--format", "json"])
            .expect_code(0)
            .stdout,
    )
    .unwrap();
    assert_eq!(all["findings"], serde_json::json!([]));
    place.write(
        "gpu-cluster.yaml",
        &GOOD.replace("name: demo", "name: other"),
    );
    place.run(&["build", "-q"]).expect_code(0);
    let all: serde_json::Value = serde_json::from_str(&check("json")).unwrap();
    assert_eq!(all["findings"][0]["file"], "clusters/demo/gpuc.lock.json");
}

#[test]
fn edited_file_is_kept_without_force() {
    let place = Workspace::with(GOOD);
    place.build();
    let fresh = place.files("clusters");
    let file = format!("clusters/demo/{}", first_file(&place));
    place.write(&file, "mine: true\n");
    let ran = place.run(&["build"]).expect_code(1);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains(&format!("{file}: edited by hand")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(place.read(&file), "mine: true\n");
    let ran = place.run(&["build", "--check"]).expect_code(1);
    assert_eq!(ran.stdout, format!("edited by hand: {file}\n"));
    assert_eq!(place.read(&file), "mine: true\n");
    place.run(&["build", "--force"]).expect_code(0);
    assert_eq!(place.files("clusters"), fresh);
    place.run(&["build", "--check"]).expect_silent_success();
}

#[test]
fn removed_files_are_deleted() {
    let place = Workspace::with(GOOD);
    place.build();
    place.write("gpu-cluster.yaml", &without_gpus());
    let ran = place.run(&["build", "--check"]).expect_code(1);
    assert!(
        ran.stdout.contains("orphan: clusters/demo/manifests/"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("stale: clusters/demo/README.md"),
        "{}",
        ran.stdout
    );
    let ran = place.run(&["build"]).expect_code(0);
    assert!(ran.stderr.contains(" removed)"), "{}", ran.stderr);
    assert_eq!(place.files("clusters"), clean_build(&without_gpus()));
    assert!(
        !place.path("clusters/demo/manifests").exists(),
        "folders that are empty go too"
    );
}

#[test]
fn missing_tree_is_reported() {
    let place = Workspace::with(GOOD);
    let ran = place.run(&["build", "--check"]).expect_code(1);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(
        lines.contains(&"missing: clusters/demo/README.md"),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("missing: clusters/demo/")),
        "{lines:?}"
    );
    assert!(!place.path("clusters").exists(), "--check writes nothing");
}

#[test]
fn foreign_files_are_never_changed() {
    let place = Workspace::with(GOOD);
    place.write("clusters/demo/notes.md", "mine\n");
    place.write("clusters/demo/manifests/mine/own.yaml", "mine: true\n");
    place.build();
    place.run(&["build", "--check"]).expect_silent_success();
    place.write("gpu-cluster.yaml", &without_gpus());
    place
        .run(&["build", "--force", "-q"])
        .expect_silent_success();
    assert_eq!(place.read("clusters/demo/notes.md"), "mine\n");
    assert_eq!(
        place.read("clusters/demo/manifests/mine/own.yaml"),
        "mine: true\n"
    );
    // One that stands where gpuc writes is kept as well, and is named.
    let other = Workspace::with(GOOD);
    other.write("clusters/demo/README.md", "mine\n");
    let ran = other.run(&["build"]).expect_code(1);
    assert!(
        ran.stderr
            .contains("clusters/demo/README.md: not written by gpuc"),
        "{}",
        ran.stderr
    );
    assert_eq!(other.files("clusters").len(), 1);
    let ran = other.run(&["build", "--check"]).expect_code(1);
    assert!(
        ran.stdout.contains("not gpuc's: clusters/demo/README.md"),
        "{}",
        ran.stdout
    );
}

#[test]
fn only_changed_files_are_written() {
    let place = Workspace::with(GOOD);
    place.build();
    let (before, old) = (
        modification_times(&place.path("clusters")),
        place.files("clusters"),
    );
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.write("gpu-cluster.yaml", &GOOD.replace("node-2", "node-3"));
    place.build();
    let (after, new) = (
        modification_times(&place.path("clusters")),
        place.files("clusters"),
    );
    let mut changed = 0;
    for (path, time) in &after {
        assert_eq!(before[path] == *time, old[path] == new[path], "{path}");
        changed += usize::from(old[path] != new[path]);
    }
    assert!(
        changed > 1 && changed < after.len(),
        "{changed} of {}",
        after.len()
    );
}

#[test]
fn error_leaves_the_tree_unchanged() {
    let place = Workspace::with(GOOD);
    place.build();
    let fresh = place.files("clusters");
    place.write(
        "gpu-cluster.yaml",
        &GOOD.replace("model: A30", "model: A31"),
    );
    let ran = place.run(&["build", "--force"]).expect_code(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("gpu-cluster.yaml:9:"), "{}", ran.stderr);
    assert_eq!(place.files("clusters"), fresh);
}

#[test]
fn unwritable_path_is_named() {
    let place = Workspace::with(GOOD);
    place.write("taken", "a file\n");
    let ran = place.run(&["build", "-o", "taken"]).expect_code(3);
    assert!(ran.stderr.contains("taken"), "{}", ran.stderr);
    assert_eq!(place.read("taken"), "a file\n");
    place.write("out/demo/manifests", "a file\n");
    let ran = place.run(&["build", "-o", "out"]).expect_code(3);
    assert!(
        ran.stderr.contains("out/demo/manifests: is a file"),
        "{}",
        ran.stderr
    );
    place.write("torn/demo/gpuc.lock.json", "{");
    let ran = place.run(&["build", "-o", "torn"]).expect_code(3);
    assert!(
        ran.stderr
            .contains("torn/demo/gpuc.lock.json cannot be read: "),
        "{}",
        ran.stderr
    );
    place.write("torn/demo/gpuc.lock.json", "<<<<<<< ours\n{}\n");
    let ran = place.run(&["build", "-o", "torn"]).expect_code(3);
    assert!(ran.stderr.contains("conflict markers"), "{}", ran.stderr);
    // What cannot be printed is an error too.
    if fs::metadata("/dev/full").is_ok() {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let ended = place.command(&["schema"]).stdout(full).output().unwrap();
        assert_eq!(ended.status.code(), Some(3));
    }
}

#[test]
fn machine_choice_is_kept_by_the_lock() {
    let quickstart = crate::support::repository().join("examples/quickstart/gpu-cluster.yaml");
    let place = Workspace::with(&fs::read_to_string(quickstart).unwrap());
    place.build();
    let lock = place.read("clusters/quickstart/gpuc.lock.json");
    let machine = "\"infer\": \"g6.xlarge\"";
    assert!(lock.contains(machine), "{lock}");
    // A catalog that was smaller then: only a larger machine had the card.
    let lock = lock.replace(machine, "\"infer\": \"g6.4xlarge\"");
    place.write("clusters/quickstart/gpuc.lock.json", &lock);
    place.build();
    let lock = place.read("clusters/quickstart/gpuc.lock.json");
    assert!(lock.contains("\"infer\": \"g6.4xlarge\""), "{lock}");
    let files = place.files("clusters/quickstart/cloud");
    assert!(files.values().any(|text| text.contains("g6.4xlarge")));
    assert!(!files.values().any(|text| text.contains("g6.xlarge")));
}
