//! Detects trees without an input. The lock of a tree contains the path of its input file, relative to the cluster's
//! folder. A tree is an orphan if the run has read this file and found no such cluster in it, or has searched the
//! file's folder and the file does not exist. All other trees are ignored.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};
use gpuc_compile::lock::Lock;
use gpuc_syntax::load::STDIN;

use super::args::{BuildArgs, Cli};
use super::build::{cluster_folder, report_failure};
use super::inputs::Run;
use super::{Exit, output, write};

/// The input file of a cluster's tree, relative to the cluster's folder. `None` for input without a path that is valid
/// on every machine: standard input, and a file outside the repository of the trees, or, without a repository, outside
/// the parent folder of `out`.
pub(super) fn recorded_input(out: &Path, cluster: &Path, file: &str) -> Option<String> {
    if file == STDIN {
        return None;
    }
    let file = real_file_path(Path::new(file));
    if !file.starts_with(project_folder(&real_path(out))?) {
        return None;
    }
    relative_path(&real_path(cluster), &file)
}

/// Fails if the folder contains the tree of another cluster with the same name: its scripts would switch to another
/// account. A cluster that moved to another file is allowed, because the old file no longer contains its name.
pub(super) fn refuse_other_cluster(tree: &Path, name: &str, from: Option<&str>) -> Result<()> {
    let lock = write::read_lock(tree).ok().flatten();
    let Some(before) = lock.and_then(|lock| lock.from) else {
        return Ok(());
    };
    let other = real_file_path(&real_path(tree).join(&before));
    let text = write::read_regular(&other);
    let still_has_it = text.is_ok_and(|text| String::from_utf8_lossy(&text).contains(name));
    if from.is_some_and(|from| from != before) && still_has_it {
        bail!(
            "{} was built from {}, which still has a cluster named {name}\n\
             help: rename one of the two clusters; if the cluster has moved, delete it there, or build with `--force`",
            tree.display(),
            other.display()
        );
    }
    Ok(())
}

/// Reports trees without an input, or deletes them with `--prune`. With `--check`, each one is also recorded as a
/// finding.
pub(super) fn handle_orphans(
    cli: &Cli,
    args: &BuildArgs,
    run: &Run,
    note: &mut dyn FnMut(&Path, &str, &str),
) -> Result<Exit> {
    let built_names: BTreeSet<_> = run
        .compilations
        .iter()
        .map(|compilation| cluster_folder(&args.out, compilation))
        .collect();
    let read = RunInputs::from_run(run);
    let mut exit = Exit::Success;
    for folder in write::built_folders(&args.out)? {
        if built_names.contains(&folder) {
            continue;
        }
        let lock = write::read_lock(&folder).ok().flatten();
        exit = exit.max(match read.tree_state(&folder, lock.as_ref()) {
            TreeState::Orphan => handle_orphan(cli, args, &folder, note)?,
            TreeState::Unknown if run.is_fleet() && !args.check => {
                output::print_message(&format!(
                    "note: the lock of {} does not name its input file; delete the folder if the cluster no longer \
                     exists",
                    folder.display()
                ));
                Exit::Success
            }
            TreeState::Unknown | TreeState::NotInRun => Exit::Success,
        });
    }
    Ok(exit)
}

fn handle_orphan(
    cli: &Cli,
    args: &BuildArgs,
    tree: &Path,
    note: &mut dyn FnMut(&Path, &str, &str),
) -> Result<Exit> {
    let shown = tree.display();
    if args.check {
        // Findings in a format for programs have standard output for themselves.
        output::print_listing(args.input.format, &format!("orphan: {shown}\n"))?;
        let lock = tree.join(gpuc_compile::lock::LOCK_FILE);
        let help = "run `gpuc build --prune` if the cluster no longer exists";
        note(&lock, "no cluster in the input generates this tree", help);
        return Ok(Exit::OutOfDate);
    }
    if !args.prune {
        output::print_message(&format!(
            "note: no cluster in the input generates {shown}; if the cluster no longer exists, delete the tree with \
             `gpuc build --prune`"
        ));
        return Ok(Exit::Success);
    }
    match write::remove(tree, args.force) {
        Ok(changes) if !cli.quiet => {
            let count = changes.removed.len() + changes.edited_by_hand.len();
            let files = if count == 1 { "file" } else { "files" };
            output::print_message(&format!("{shown}: {count} {files} removed"));
            Ok(Exit::Success)
        }
        Ok(_) => Ok(Exit::Success),
        Err(error) => Ok(report_failure(&error)),
    }
}

/// The state of a tree that the run did not write.
enum TreeState {
    /// The tree's input was searched for and does not exist.
    Orphan,
    /// The tree's input is not part of this run.
    NotInRun,
    /// The tree's input is unknown.
    Unknown,
}

/// The files and searched folders of a run, by real paths.
struct RunInputs {
    files: BTreeSet<PathBuf>,
    folders: Vec<PathBuf>,
}

impl RunInputs {
    fn from_run(run: &Run) -> Self {
        let files = run.files.iter();
        Self {
            files: files.map(|file| real_file_path(Path::new(file))).collect(),
            folders: run.folders.iter().map(|folder| real_path(folder)).collect(),
        }
    }

    fn tree_state(&self, tree: &Path, lock: Option<&Lock>) -> TreeState {
        let Some(from) = lock.and_then(|lock| lock.from.as_ref()) else {
            return TreeState::Unknown;
        };
        let from = real_file_path(&real_path(tree).join(from));
        let was_searched = self.folders.iter().any(|folder| from.starts_with(folder));
        if self.files.contains(&from) || (was_searched && !from.exists()) {
            TreeState::Orphan
        } else {
            TreeState::NotInRun
        }
    }
}

/// The project folder: the repository, or the parent of the output folder.
fn project_folder(out: &Path) -> Option<&Path> {
    let repository = out.ancestors().find(|above| above.join(".git").exists());
    // The root directory is not a project: paths below it are specific to this machine.
    let parent = || out.parent().filter(|folder| folder.parent().is_some());
    repository.or_else(parent)
}

/// The real path of a file; a symbolic link itself is not resolved.
fn real_file_path(file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(folder), Some(name)) if folder.as_os_str().is_empty() => {
            real_path(Path::new(".")).join(name)
        }
        (Some(folder), Some(name)) => real_path(folder).join(name),
        _ => real_path(file),
    }
}

/// The path without links, `.` and `..`, even if its last components do not exist.
fn real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path
        .ancestors()
        .find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let Some((above, mut real)) = found else {
        return path;
    };
    for component in path.strip_prefix(above).unwrap_or(Path::new("")) {
        if component == ".." {
            real.pop();
        } else {
            real.push(component);
        }
    }
    real
}

/// The path of a file relative to a folder, with `/`. Both are real paths.
fn relative_path(folder: &Path, file: &Path) -> Option<String> {
    let same = folder.components().zip(file.components());
    let same = same.take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(same).map(|_| Some(".."));
    let down = file
        .components()
        .skip(same)
        .map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
    let parts: Option<Vec<&str>> = up.chain(down).collect();
    Some(parts?.join("/"))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn temp_dir(folders: &[&str]) -> (TempDir, PathBuf) {
        let temp_dir = TempDir::new().unwrap();
        for folder in folders {
            fs::create_dir_all(temp_dir.path().join(folder)).unwrap();
        }
        let root = fs::canonicalize(temp_dir.path()).unwrap();
        (temp_dir, root)
    }

    fn check(root: &Path, out: &str, file: &str) -> Option<String> {
        let out = root.join(out);
        let file = root.join(file);
        recorded_input(&out, &out.join("ml"), file.to_str().unwrap())
    }

    #[test]
    fn input_path_is_relative_to_the_tree() {
        let (_temp_dir, root) = temp_dir(&["a", "clusters/ml"]);
        let wanted = Some("../../a/gpu-cluster.yaml".to_owned());
        assert_eq!(check(&root, "clusters", "a/gpu-cluster.yaml"), wanted);
        assert_eq!(
            check(&root, "a/../clusters", "./a/gpu-cluster.yaml"),
            wanted
        );
        // The trees do not exist yet.
        assert_eq!(check(&root, "none", "a/gpu-cluster.yaml"), wanted);
    }

    #[test]
    fn machine_specific_paths_are_not_stored() {
        let (_temp_dir, root) = temp_dir(&["one/clusters", "two"]);
        assert_eq!(check(&root, "one/clusters", "two/gpu-cluster.yaml"), None);
        assert_eq!(
            check(&root, "one/deep/clusters", "one/gpu-cluster.yaml"),
            None
        );
        fs::create_dir(root.join("one/.git")).unwrap();
        let deep = check(&root, "one/deep/clusters", "one/gpu-cluster.yaml");
        assert_eq!(deep.as_deref(), Some("../../../gpu-cluster.yaml"));
        assert_eq!(check(&root, "one/clusters", "two/gpu-cluster.yaml"), None);
        assert_eq!(recorded_input(&root, &root.join("ml"), STDIN), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_path_are_resolved() {
        let (_temp_dir, root) = temp_dir(&["a", "clusters"]);
        std::os::unix::fs::symlink(root.join("a"), root.join("b")).unwrap();
        let wanted = Some("../../a/gpu-cluster.yaml".to_owned());
        assert_eq!(check(&root, "clusters", "b/gpu-cluster.yaml"), wanted);
    }
}
