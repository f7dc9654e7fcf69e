//! Which input each tree comes from, and which trees have none any more.
//!
//! The lock of a tree remembers its file, as seen from the cluster's folder. A run judges a tree only by that: the tree
//! is an orphan when the run has read the file and found no such cluster in it, or has searched the folder that the
//! file was in and found no such file. Whatever else stands beside it belongs to somebody else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};
use gpuc::load::STDIN;
use gpuc::lock::Lock;

use super::args::{BuildArgs, Cli};
use super::build::{failed, folder};
use super::inputs::Run;
use super::{Exit, output, write};

/// The file that a cluster's tree comes from, as seen from the cluster's folder.
///
/// `None` for what has no place that means the same on every machine: standard input, and a file outside of the
/// repository that the trees are in, or outside of the folder that `out` is in where there is no repository.
pub(super) fn remembered(out: &Path, cluster: &Path, file: &str) -> Option<String> {
    if file == STDIN {
        return None;
    }
    let file = located(Path::new(file));
    if !file.starts_with(project(&real(out))?) {
        return None;
    }
    relative(&real(cluster), &file)
}

/// Refuses to put a cluster's tree where another cluster of the same name has its own: the scripts there would turn to
/// another account from one build to the next. A cluster that moved to another file is let through, for the file that
/// it was in no longer has its name.
pub(super) fn refuse_another(tree: &Path, name: &str, from: Option<&str>) -> Result<()> {
    let lock = write::read_lock(tree).ok().flatten();
    let Some(before) = lock.and_then(|lock| lock.from) else {
        return Ok(());
    };
    let other = located(&real(tree).join(&before));
    let still_has_it = fs::read_to_string(&other).is_ok_and(|text| text.contains(name));
    if from.is_some_and(|from| from != before) && still_has_it {
        bail!(
            "{} was built from {}, which still has a cluster called {name}\n\
             help: give one of the two another name; if the cluster has moved, remove it there, or build with `--force`",
            tree.display(),
            other.display()
        );
    }
    Ok(())
}

/// Names the trees that have no input any more, or with `--prune` removes them. With `--check` each is also noted:
/// where, what is wrong, and what to type.
pub(super) fn look_after(
    cli: &Cli,
    args: &BuildArgs,
    run: &Run,
    note: &mut dyn FnMut(&Path, &str, &str),
) -> Result<Exit> {
    let wanted: BTreeSet<_> = run
        .compilations
        .iter()
        .map(|compilation| folder(&args.out, compilation))
        .collect();
    let read = Read::of(run);
    let mut exit = Exit::Fine;
    for left in write::built(&args.out)? {
        if wanted.contains(&left) {
            continue;
        }
        let lock = write::read_lock(&left).ok().flatten();
        exit = exit.max(match read.judge(&left, lock.as_ref()) {
            Judgement::Orphan => orphan(cli, args, &left, note)?,
            Judgement::Unknown if run.is_fleet() && !args.check => {
                output::say(&format!(
                    "note: {} does not say which file it was built from and is left alone; if it is gone for good, \
                     remove the folder",
                    left.display()
                ));
                Exit::Fine
            }
            Judgement::Unknown | Judgement::Elsewhere => Exit::Fine,
        });
    }
    Ok(exit)
}

fn orphan(
    cli: &Cli,
    args: &BuildArgs,
    left: &Path,
    note: &mut dyn FnMut(&Path, &str, &str),
) -> Result<Exit> {
    let shown = left.display();
    if args.check {
        // Findings in a format for programs have standard output for themselves.
        output::listing(args.input.format, &format!("orphan: {shown}\n"))?;
        let lock = left.join(gpuc::lock::LOCK_FILE);
        let help = "if it is gone for good, run `gpuc build --prune`";
        note(&lock, "this tree belongs to no cluster of the input", help);
        return Ok(Exit::Differs);
    }
    if !args.prune {
        output::say(&format!(
            "note: {shown} belongs to no cluster of the input; if it is gone for good, `gpuc build --prune` removes it"
        ));
        return Ok(Exit::Fine);
    }
    match write::remove(left, args.force) {
        Ok(changes) if !cli.quiet => {
            let count = changes.removed.len() + changes.edited_by_hand.len();
            let files = if count == 1 { "file" } else { "files" };
            output::say(&format!("{shown}: {count} {files} removed"));
            Ok(Exit::Fine)
        }
        Ok(_) => Ok(Exit::Fine),
        Err(error) => Ok(failed(&error)),
    }
}

/// What a run can say of a tree that it has not made.
enum Judgement {
    /// Its input was looked for and is not there.
    Orphan,
    /// Its input was not asked for.
    Elsewhere,
    /// Nobody knows its input.
    Unknown,
}

/// What a run has read and where it has searched, by real paths.
struct Read {
    files: BTreeSet<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Read {
    fn of(run: &Run) -> Self {
        let files = run.files.iter();
        Self {
            files: files.map(|file| located(Path::new(file))).collect(),
            folders: run.folders.iter().map(|folder| real(folder)).collect(),
        }
    }

    fn judge(&self, tree: &Path, lock: Option<&Lock>) -> Judgement {
        let Some(from) = lock.and_then(|lock| lock.from.as_ref()) else {
            return Judgement::Unknown;
        };
        let from = located(&real(tree).join(from));
        let was_searched = self.folders.iter().any(|folder| from.starts_with(folder));
        if self.files.contains(&from) || (was_searched && !from.exists()) {
            Judgement::Orphan
        } else {
            Judgement::Elsewhere
        }
    }
}

/// The folder that moves as a whole: the repository, or else the folder that the trees' folder is in.
fn project(out: &Path) -> Option<&Path> {
    let repository = out.ancestors().find(|above| above.join(".git").exists());
    // The root of all files is no project: every path below it is one of this machine.
    let beside = || out.parent().filter(|folder| folder.parent().is_some());
    repository.or_else(beside)
}

/// The real path of a file; where the file itself is a link, the link's.
fn located(file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(folder), Some(name)) if folder.as_os_str().is_empty() => {
            real(Path::new(".")).join(name)
        }
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => real(file),
    }
}

/// The path without links, `.` and `..`, also where the last parts of it are not there.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path
        .ancestors()
        .find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let Some((above, mut real)) = found else {
        return path;
    };
    for part in path.strip_prefix(above).unwrap_or(Path::new("")) {
        if part == ".." {
            real.pop();
        } else {
            real.push(part);
        }
    }
    real
}

/// A file as seen from a folder, with `/`. Both are real paths.
fn relative(folder: &Path, file: &Path) -> Option<String> {
    let same = folder.components().zip(file.components());
    let same = same.take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(same).map(|_| Some(".."));
    let down = file.components().skip(same).map(|part| match part {
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

    fn place(folders: &[&str]) -> (TempDir, PathBuf) {
        let place = TempDir::new().unwrap();
        for folder in folders {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        let root = fs::canonicalize(place.path()).unwrap();
        (place, root)
    }

    fn check(root: &Path, out: &str, file: &str) -> Option<String> {
        let out = root.join(out);
        let file = root.join(file);
        remembered(&out, &out.join("ml"), file.to_str().unwrap())
    }

    #[test]
    fn a_file_is_remembered_as_seen_from_its_tree() {
        let (_place, root) = place(&["a", "clusters/ml"]);
        let wanted = Some("../../a/gpu-cluster.yaml".to_owned());
        assert_eq!(check(&root, "clusters", "a/gpu-cluster.yaml"), wanted);
        assert_eq!(
            check(&root, "a/../clusters", "./a/gpu-cluster.yaml"),
            wanted
        );
        // The trees are not there yet.
        assert_eq!(check(&root, "none", "a/gpu-cluster.yaml"), wanted);
    }

    #[test]
    fn no_path_of_a_machine_is_remembered() {
        let (_place, root) = place(&["one/clusters", "two"]);
        assert_eq!(check(&root, "one/clusters", "two/gpu-cluster.yaml"), None);
        assert_eq!(
            check(&root, "one/deep/clusters", "one/gpu-cluster.yaml"),
            None
        );
        fs::create_dir(root.join("one/.git")).unwrap();
        let deep = check(&root, "one/deep/clusters", "one/gpu-cluster.yaml");
        assert_eq!(deep.as_deref(), Some("../../../gpu-cluster.yaml"));
        assert_eq!(check(&root, "one/clusters", "two/gpu-cluster.yaml"), None);
        assert_eq!(remembered(&root, &root.join("ml"), STDIN), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_on_the_way_lead_to_the_same_file() {
        let (_place, root) = place(&["a", "clusters"]);
        std::os::unix::fs::symlink(root.join("a"), root.join("b")).unwrap();
        let wanted = Some("../../a/gpu-cluster.yaml".to_owned());
        assert_eq!(check(&root, "clusters", "b/gpu-cluster.yaml"), wanted);
    }
}
