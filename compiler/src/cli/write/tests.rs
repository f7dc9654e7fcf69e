//! Tests of the result of writing a tree, for any previous state and after interruptions.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use gpuc_compile::lock::{Pins, TEMPORARY_PREFIX};
use tempfile::TempDir;

use super::*;

/// A tree; files with the extension `.sh` are executable.
fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, contents) in files {
        let contents = (*contents).to_owned();
        if Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "sh")
        {
            tree.add_script(*path, contents);
        } else {
            tree.add(*path, contents);
        }
    }
    tree
}

fn lock(tree: &Tree) -> Lock {
    Lock::for_tree(tree, "sha256:input".to_owned(), Pins::default())
}

fn build(folder: &TempDir, files: &[(&str, &str)]) -> Result<Changes> {
    let tree = tree(files);
    write(folder.path(), &tree, &lock(&tree), false)
}

fn force(folder: &TempDir, files: &[(&str, &str)]) -> Changes {
    let tree = tree(files);
    write(folder.path(), &tree, &lock(&tree), true).unwrap()
}

fn text(folder: &TempDir, path: &str) -> String {
    fs::read_to_string(folder.path().join(path)).unwrap()
}

fn error_message(result: Result<Changes>) -> String {
    format!("{:#}", result.unwrap_err())
}

/// All files and folders with contents, mode and modification time, to check that nothing changed.
fn folder_snapshot(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        let line = format!(
            "{:?} {:o} {}",
            entry.path(),
            metadata.mode(),
            metadata.mtime_nsec()
        );
        if metadata.is_dir() {
            found.push(format!("{:?}", entry.path()));
            found.extend(folder_snapshot(&entry.path()));
        } else {
            found
                .push(line + &String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder.path()).unwrap();
                names.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    names.sort();
    names
}

#[test]
fn tree_is_added_changed_and_deleted() {
    let folder = TempDir::new().unwrap();
    let folder_path = folder.path().join("out/ml");
    let first = tree(&[("a.txt", "1"), ("x/y/b.txt", "1"), ("run.sh", "1")]);
    let changes = write(&folder_path, &first, &lock(&first), false).unwrap();
    assert_eq!(changes.added, ["a.txt", "run.sh", "x/y/b.txt"]);
    let second = tree(&[("a.txt", "2"), ("run.sh", "1")]);
    let changes = write(&folder_path, &second, &lock(&second), false).unwrap();
    assert_eq!(changes.changed, ["a.txt"]);
    assert_eq!(changes.removed, ["x/y/b.txt"]);
    assert_eq!(changes.unchanged, 1);
    assert!(!folder_path.join("x").exists());
    assert_eq!(read_lock(&folder_path).unwrap(), Some(lock(&second)));
    assert_eq!(
        built_folders(&folder.path().join("out")).unwrap(),
        [folder_path]
    );
}

#[test]
fn unchanged_tree_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let files = [("a.txt", "1"), ("x/b.sh", "1")];
    build(&folder, &files).unwrap();
    let before = folder_snapshot(folder.path());
    std::thread::sleep(std::time::Duration::from_millis(20));
    let changes = build(&folder, &files).unwrap();
    assert!(changes.is_empty() && changes.unchanged == 2, "{changes:?}");
    assert_eq!(folder_snapshot(folder.path()), before);
    let changes = build(&folder, &[("a.txt", "2"), ("x/b.sh", "1")]).unwrap();
    assert_eq!(changes.changed, ["a.txt"]);
    let kept = before.iter().find(|line| line.contains("b.sh\" "));
    assert!(folder_snapshot(folder.path()).contains(kept.unwrap()));
}

#[test]
fn modes_are_set_and_repaired() {
    let folder = TempDir::new().unwrap();
    let files = [("a.txt", "1"), ("b.sh", "1")];
    build(&folder, &files).unwrap();
    let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(
        (mode("a.txt"), mode("b.sh"), mode(LOCK_FILE)),
        (0o644, 0o755, 0o644)
    );
    let set = |path: &str, mode| {
        fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("b.sh", 0o644);
    set("a.txt", 0o664);
    let changes = build(&folder, &files).unwrap();
    assert_eq!(changes.changed, ["b.sh"]);
    // A mode from another umask is not changed.
    assert_eq!((mode("a.txt"), mode("b.sh")), (0o664, 0o755));
}

#[test]
fn edited_files_are_kept_without_force() {
    let folder = TempDir::new().unwrap();
    build(
        &folder,
        &[
            ("a.txt", "1"),
            ("b.txt", "1"),
            ("c.txt", "1"),
            ("d.txt", "1"),
        ],
    )
    .unwrap();
    fs::write(folder.path().join("a.txt"), "mine").unwrap();
    fs::write(folder.path().join("b.txt"), "mine").unwrap();
    fs::write(folder.path().join("c.txt"), "2").unwrap();
    let before = folder_snapshot(folder.path());
    let next = [("a.txt", "2"), ("c.txt", "2"), ("d.txt", "2")];
    let message = error_message(build(&folder, &next));
    assert!(message.contains("a.txt: edited by hand"), "{message}");
    assert!(message.contains("b.txt: edited by hand"), "{message}");
    assert!(
        !message.contains("c.txt") && message.contains("--force"),
        "{message}"
    );
    assert_eq!(folder_snapshot(folder.path()), before);
    let tree = tree(&next);
    let changes = check(folder.path(), &tree, &lock(&tree)).unwrap();
    assert_eq!(changes.edited_by_hand, ["a.txt", "b.txt"]);
    assert!(changes.lock.is_some() && folder_snapshot(folder.path()) == before);
    force(&folder, &next);
    assert_eq!(names(&folder), ["a.txt", "c.txt", "d.txt", LOCK_FILE]);
    assert_eq!(text(&folder, "a.txt"), "2");
}

#[test]
fn foreign_files_are_kept_without_force() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("x")).unwrap();
    fs::write(folder.path().join("x/a.txt"), "mine").unwrap();
    fs::write(folder.path().join("x/same.txt"), "1").unwrap();
    fs::write(folder.path().join("x/other.txt"), "mine").unwrap();
    let files = [("x/a.txt", "1"), ("x/same.txt", "1")];
    let message = error_message(build(&folder, &files));
    assert!(
        message.contains("x/a.txt: not written by gpuc"),
        "{message}"
    );
    assert!(
        !message.contains("same") && !folder.path().join(LOCK_FILE).exists(),
        "{message}"
    );
    force(&folder, &files);
    assert_eq!(text(&folder, "x/a.txt"), "1");
    build(&folder, &[]).unwrap();
    assert_eq!(names(&folder), [LOCK_FILE, "x/other.txt"]);
}

#[test]
fn links_are_errors() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("a.txt"), "theirs").unwrap();
    for link in ["a.txt", "x"] {
        let folder = TempDir::new().unwrap();
        symlink(outside.path().join(link), folder.path().join(link)).unwrap();
        let message = error_message(build(&folder, &[("a.txt", "1"), ("x/y/b.txt", "1")]));
        assert!(
            message.contains("is a symbolic link") && message.contains(link),
            "{message}"
        );
        assert!(!folder.path().join(LOCK_FILE).exists());
    }
    // Files are not deleted through a folder that became a link.
    let folder = TempDir::new().unwrap();
    build(&folder, &[("x/a.txt", "theirs")]).unwrap();
    fs::remove_dir_all(folder.path().join("x")).unwrap();
    symlink(outside.path(), folder.path().join("x")).unwrap();
    assert!(error_message(build(&folder, &[])).contains("is a symbolic link"));
    assert!(outside.path().join("a.txt").exists());
}

#[test]
fn blocking_paths_are_named() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("x"), "").unwrap();
    let message = error_message(build(&folder, &[("x/a.txt", "1")]));
    assert!(
        message.contains("/x: is a file, but gpuc needs a folder with this path"),
        "{message}"
    );
    fs::create_dir(folder.path().join("a.txt")).unwrap();
    let message = error_message(build(&folder, &[("a.txt", "1")]));
    assert!(
        message.contains("a.txt: is a folder, but gpuc generates a file with this path"),
        "{message}"
    );
    let message = error_message(build(&folder, &[("../a.txt", "1")]));
    assert!(message.contains("`../a.txt`"), "{message}");
    let file = folder.path().join("x");
    let nothing = tree(&[("a", "")]);
    let message = error_message(write(&file, &nothing, &lock(&nothing), false));
    assert!(message.contains("/x"), "{message}");
}

#[test]
fn file_becomes_folder_and_back() {
    let folder = TempDir::new().unwrap();
    build(&folder, &[("x", "1"), ("a", "1")]).unwrap();
    build(&folder, &[("x/y/z", "1"), ("a", "1")]).unwrap();
    assert_eq!(names(&folder), ["a", LOCK_FILE, "x/y/z"]);
    build(&folder, &[("x", "2"), ("a", "1")]).unwrap();
    assert_eq!(text(&folder, "x"), "2");
}

#[test]
fn unwritable_folder_is_named_and_writes_are_atomic() {
    let folder = TempDir::new().unwrap();
    build(&folder, &[("x/a.txt", "1")]).unwrap();
    let x = folder.path().join("x");
    fs::set_permissions(&x, fs::Permissions::from_mode(0o555)).unwrap();
    let result = build(&folder, &[("x/a.txt", "2")]);
    fs::set_permissions(&x, fs::Permissions::from_mode(0o755)).unwrap();
    // root can write everywhere.
    if let Err(error) = result {
        let message = format!("{error:#}");
        assert!(message.contains("x/a.txt: cannot be written"), "{message}");
        assert_eq!(text(&folder, "x/a.txt"), "1");
        build(&folder, &[("x/a.txt", "2")]).unwrap();
    }
    assert_eq!(text(&folder, "x/a.txt"), "2");
}

#[test]
fn next_run_completes_a_killed_one() {
    let old = [
        ("a.txt", "1"),
        ("b.txt", "1"),
        ("gone/c.txt", "1"),
        ("same.txt", "s"),
    ];
    let new = [
        ("a.txt", "2"),
        ("b.txt", "2"),
        ("d/new.sh", "2"),
        ("same.txt", "s"),
    ];
    let next = [("a.txt", "3"), ("b.txt", "2"), ("same.txt", "s")];
    // Killed after any number of steps, with a temporary file left; then the same tree, another one, or none.
    for done in 0..=4 {
        for last in [&new[..], &next[..], &old[..], &[][..]] {
            let folder = TempDir::new().unwrap();
            build(&folder, &old).unwrap();
            let target = tree(&new);
            let intent = lock(&target).with_pending(read_lock(folder.path()).unwrap().as_ref());
            disk::write_atomically(&folder.path().join(LOCK_FILE), &intent.to_json(), false)
                .unwrap();
            let changes = plan_write(folder.path(), &target, Some(&intent)).unwrap();
            let mut partial = changes.clone();
            partial.actions.truncate(done);
            apply(folder.path(), &target, &partial).unwrap();
            fs::write(folder.path().join(format!("{TEMPORARY_PREFIX}77")), "ha").unwrap();
            if done >= 3 {
                fs::write(
                    folder
                        .path()
                        .join("d")
                        .join(format!("{TEMPORARY_PREFIX}77")),
                    "ha",
                )
                .unwrap();
            }
            build(&folder, last).unwrap();
            let mut expected: Vec<&str> = last.iter().map(|(path, _)| *path).collect();
            expected.push(LOCK_FILE);
            expected.sort_unstable();
            assert_eq!(names(&folder), expected, "after {done} steps");
            for (path, contents) in last {
                assert_eq!(text(&folder, path), *contents);
            }
            assert_eq!(read_lock(folder.path()).unwrap(), Some(lock(&tree(last))));
        }
    }
}

#[test]
fn edit_is_detected_after_a_killed_run() {
    let folder = TempDir::new().unwrap();
    build(&folder, &[("a.txt", "1")]).unwrap();
    let target = tree(&[("a.txt", "2")]);
    let intent = lock(&target).with_pending(read_lock(folder.path()).unwrap().as_ref());
    disk::write_atomically(&folder.path().join(LOCK_FILE), &intent.to_json(), false).unwrap();
    fs::write(folder.path().join("a.txt"), "mine").unwrap();
    assert!(error_message(build(&folder, &[("a.txt", "2")])).contains("edited by hand"));
}

#[test]
fn deleted_file_is_restored() {
    let folder = TempDir::new().unwrap();
    build(&folder, &[("x/a.txt", "1")]).unwrap();
    fs::remove_dir_all(folder.path().join("x")).unwrap();
    assert_eq!(
        build(&folder, &[("x/a.txt", "1")]).unwrap().added,
        ["x/a.txt"]
    );
}

#[test]
fn deleted_cluster_keeps_foreign_files() {
    let out = TempDir::new().unwrap();
    let folder = out.path().join("ml");
    let first = tree(&[("a.txt", "1"), ("x/b.txt", "1")]);
    write(&folder, &first, &lock(&first), false).unwrap();
    fs::write(folder.join("x/mine.txt"), "").unwrap();
    assert_eq!(
        remove(&folder, false).unwrap().removed,
        ["a.txt", "x/b.txt"]
    );
    assert!(folder.join("x/mine.txt").exists() && !folder.join(LOCK_FILE).exists());
    assert_eq!(built_folders(out.path()).unwrap(), Vec::<PathBuf>::new());
    fs::remove_file(folder.join("x/mine.txt")).unwrap();
    fs::remove_dir(folder.join("x")).unwrap();
    write(&folder, &first, &lock(&first), false).unwrap();
    remove(&folder, false).unwrap();
    assert!(!folder.exists());
}

#[test]
fn unreadable_lock_error_has_its_path() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(LOCK_FILE), "{").unwrap();
    let message = error_message(build(&folder, &[]));
    assert!(
        message.contains(LOCK_FILE) && message.contains("EOF"),
        "{message}"
    );
    fs::remove_file(folder.path().join(LOCK_FILE)).unwrap();
    symlink("/etc/passwd", folder.path().join(LOCK_FILE)).unwrap();
    assert!(error_message(build(&folder, &[])).contains("is not a regular file"));
}

#[test]
fn flux_does_not_delete_itself() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("flux-system")).unwrap();
    let files = [("kustomization.yaml", "a"), ("flux/a.yaml", "a")];
    for force in [false, true] {
        let tree = tree(&files);
        let refused = error_message(write(folder.path(), &tree, &lock(&tree), force));
        assert!(
            refused.contains("Flux manages itself from this folder"),
            "{refused}"
        );
        assert!(
            refused.contains("help: build into a subfolder"),
            "{refused}"
        );
        assert!(!folder.path().join("kustomization.yaml").exists());
        assert!(!folder.path().join("flux").exists());
    }
    // A tree in a subfolder, or without its own kustomization, is allowed.
    let tree = tree(&files);
    write(&folder.path().join("ml"), &tree, &lock(&tree), false).unwrap();
    build(&folder, &[("cloud/a.sh", "a")]).unwrap();
}
