//! `gpuc build` and the tree that it manages.

use std::fs;

use super::{GOOD, Workspace, clean_build, first_file, modification_times, without_gpus};

#[test]
fn fresh_tree_is_unchanged() {
    let workspace = Workspace::with(GOOD);
    let result = workspace.run(&["build"]).expect_code(0);
    assert_eq!(result.stdout, "");
    assert!(
        result
            .stderr
            .starts_with("demo: 2 pools · 2 nodes · 2 GPUs · "),
        "{}",
        result.stderr
    );
    assert!(
        result.stderr.contains("next: review and commit clusters"),
        "{}",
        result.stderr
    );
    workspace.run(&["build", "--check"]).expect_silent_success();
    let before = modification_times(&workspace.path("clusters"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    let again = workspace.run(&["build"]).expect_code(0);
    assert!(again.stderr.contains("(unchanged)"), "{}", again.stderr);
    assert!(!again.stderr.contains("next:"), "{}", again.stderr);
    assert_eq!(modification_times(&workspace.path("clusters")), before);
}

#[test]
fn lock_change_names_its_reason() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let lock = "clusters/demo/gpuc.lock.json";
    let older = workspace
        .read(lock)
        .replacen("\"gpuc\": \"", "\"gpuc\": \"0.0.0-", 1);
    workspace.write(lock, &older);
    let result = workspace.run(&["build", "--check"]).expect_code(1);
    let expected = format!("stale: {lock} (written by another version of gpuc)\n");
    assert_eq!(result.stdout, expected);
    let result = workspace.run(&["build"]).expect_code(0);
    let expected = "(unchanged except the lock: written by another version of gpuc)";
    assert!(result.stderr.contains(expected), "{}", result.stderr);
    workspace.run(&["build", "--check"]).expect_silent_success();
}

#[cfg(unix)]
#[test]
fn script_without_execute_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let script = workspace.path("clusters/demo/cloud/apply.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let result = workspace.run(&["build", "--check"]).expect_code(1);
    let expected = "stale: clusters/demo/cloud/apply.sh (only the executable bit differs)\n";
    assert_eq!(result.stdout, expected);
}

#[test]
fn differences_are_in_machine_readable_output() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    workspace.write("clusters/demo/README.md", "mine\n");
    let check = |format: &str| {
        let result = workspace.run(&["build", "--check", "--format", format]);
        result.expect_code(1).stdout
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
    // A tree without an input is a finding, and a clean run prints an empty document.
    workspace.run(&["build", "--force", "-q"]).expect_code(0);
    let all: serde_json::Value = serde_json::from_str(
        &workspace
            .run(&["build", "--check", "--format", "json"])
            .expect_code(0)
            .stdout,
    )
    .unwrap();
    assert_eq!(all["findings"], serde_json::json!([]));
    workspace.write(
        "gpu-cluster.yaml",
        &GOOD.replace("name: demo", "name: other"),
    );
    workspace.run(&["build", "-q"]).expect_code(0);
    let all: serde_json::Value = serde_json::from_str(&check("json")).unwrap();
    assert_eq!(all["findings"][0]["file"], "clusters/demo/gpuc.lock.json");
}

#[test]
fn edited_file_is_kept_without_force() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let fresh = workspace.files("clusters");
    let file = format!("clusters/demo/{}", first_file(&workspace));
    workspace.write(&file, "mine: true\n");
    let result = workspace.run(&["build"]).expect_code(1);
    assert_eq!(result.stdout, "");
    assert!(
        result.stderr.contains(&format!("{file}: edited by hand")),
        "{}",
        result.stderr
    );
    assert!(result.stderr.contains("--force"), "{}", result.stderr);
    assert_eq!(workspace.read(&file), "mine: true\n");
    let result = workspace.run(&["build", "--check"]).expect_code(1);
    assert_eq!(result.stdout, format!("edited by hand: {file}\n"));
    assert_eq!(workspace.read(&file), "mine: true\n");
    workspace.run(&["build", "--force"]).expect_code(0);
    assert_eq!(workspace.files("clusters"), fresh);
    workspace.run(&["build", "--check"]).expect_silent_success();
}

#[test]
fn removed_files_are_deleted() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    workspace.write("gpu-cluster.yaml", &without_gpus());
    let result = workspace.run(&["build", "--check"]).expect_code(1);
    assert!(
        result.stdout.contains("orphan: clusters/demo/manifests/"),
        "{}",
        result.stdout
    );
    assert!(
        result.stdout.contains("stale: clusters/demo/README.md"),
        "{}",
        result.stdout
    );
    let result = workspace.run(&["build"]).expect_code(0);
    assert!(result.stderr.contains(" removed)"), "{}", result.stderr);
    assert_eq!(workspace.files("clusters"), clean_build(&without_gpus()));
    assert!(
        !workspace.path("clusters/demo/manifests").exists(),
        "empty folders are removed too"
    );
}

#[test]
fn missing_tree_is_reported() {
    let workspace = Workspace::with(GOOD);
    let result = workspace.run(&["build", "--check"]).expect_code(1);
    let lines: Vec<_> = result.stdout.lines().collect();
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
    assert!(!workspace.path("clusters").exists(), "--check wrote files");
}

#[test]
fn unmanaged_files_are_never_changed() {
    let workspace = Workspace::with(GOOD);
    workspace.write("clusters/demo/notes.md", "mine\n");
    workspace.write("clusters/demo/manifests/mine/own.yaml", "mine: true\n");
    workspace.build();
    workspace.run(&["build", "--check"]).expect_silent_success();
    workspace.write("gpu-cluster.yaml", &without_gpus());
    workspace
        .run(&["build", "--force", "-q"])
        .expect_silent_success();
    assert_eq!(workspace.read("clusters/demo/notes.md"), "mine\n");
    assert_eq!(
        workspace.read("clusters/demo/manifests/mine/own.yaml"),
        "mine: true\n"
    );
    // A file of the user at a path that gpuc generates is kept and reported.
    let other = Workspace::with(GOOD);
    other.write("clusters/demo/README.md", "mine\n");
    let result = other.run(&["build"]).expect_code(1);
    assert!(
        result
            .stderr
            .contains("clusters/demo/README.md: not written by gpuc"),
        "{}",
        result.stderr
    );
    assert_eq!(other.files("clusters").len(), 1);
    let result = other.run(&["build", "--check"]).expect_code(1);
    assert!(
        result
            .stdout
            .contains("not gpuc's: clusters/demo/README.md"),
        "{}",
        result.stdout
    );
}

#[test]
fn only_changed_files_are_written() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let (before, old) = (
        modification_times(&workspace.path("clusters")),
        workspace.files("clusters"),
    );
    std::thread::sleep(std::time::Duration::from_millis(20));
    workspace.write("gpu-cluster.yaml", &GOOD.replace("node-2", "node-3"));
    workspace.build();
    let (after, new) = (
        modification_times(&workspace.path("clusters")),
        workspace.files("clusters"),
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
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let fresh = workspace.files("clusters");
    workspace.write(
        "gpu-cluster.yaml",
        &GOOD.replace("model: A30", "model: A31"),
    );
    let result = workspace.run(&["build", "--force"]).expect_code(2);
    assert_eq!(result.stdout, "");
    assert!(
        result.stderr.contains("gpu-cluster.yaml:9:"),
        "{}",
        result.stderr
    );
    assert_eq!(workspace.files("clusters"), fresh);
}

#[test]
fn unwritable_path_is_named() {
    let workspace = Workspace::with(GOOD);
    workspace.write("taken", "a file\n");
    let result = workspace.run(&["build", "-o", "taken"]).expect_code(3);
    assert!(result.stderr.contains("taken"), "{}", result.stderr);
    assert_eq!(workspace.read("taken"), "a file\n");
    workspace.write("out/demo/manifests", "a file\n");
    let result = workspace.run(&["build", "-o", "out"]).expect_code(3);
    assert!(
        result.stderr.contains("out/demo/manifests: is a file"),
        "{}",
        result.stderr
    );
    workspace.write("torn/demo/gpuc.lock.json", "{");
    let result = workspace.run(&["build", "-o", "torn"]).expect_code(3);
    assert!(
        result
            .stderr
            .contains("torn/demo/gpuc.lock.json cannot be read: "),
        "{}",
        result.stderr
    );
    workspace.write("torn/demo/gpuc.lock.json", "<<<<<<< ours\n{}\n");
    let result = workspace.run(&["build", "-o", "torn"]).expect_code(3);
    assert!(
        result.stderr.contains("conflict markers"),
        "{}",
        result.stderr
    );
    // A failure to print is an error too.
    if fs::metadata("/dev/full").is_ok() {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let ended = workspace
            .command(&["schema"])
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(3));
    }
}

#[test]
fn machine_choice_is_kept_by_the_lock() {
    let quickstart = crate::support::repository().join("examples/quickstart/gpu-cluster.yaml");
    let workspace = Workspace::with(&fs::read_to_string(quickstart).unwrap());
    workspace.build();
    let lock = workspace.read("clusters/quickstart/gpuc.lock.json");
    let machine = "\"infer\": \"g6.xlarge\"";
    assert!(lock.contains(machine), "{lock}");
    // With an older, smaller catalog, gpuc would have chosen a larger machine for the GPU model.
    let lock = lock.replace(machine, "\"infer\": \"g6.4xlarge\"");
    workspace.write("clusters/quickstart/gpuc.lock.json", &lock);
    workspace.build();
    let lock = workspace.read("clusters/quickstart/gpuc.lock.json");
    assert!(lock.contains("\"infer\": \"g6.4xlarge\""), "{lock}");
    let files = workspace.files("clusters/quickstart/cloud");
    assert!(files.values().any(|text| text.contains("g6.4xlarge")));
    assert!(!files.values().any(|text| text.contains("g6.xlarge")));
}
