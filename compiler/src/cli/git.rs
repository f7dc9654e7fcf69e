//! Reads files of a Git revision with the installed `git`, which supports worktrees, partial clones and filters.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock};

use anyhow::{Context, Result, anyhow, bail};
use gpuc_syntax::load::{ReadError, World};

use super::git_command::{
    commit, first_line, git_command, git_error, merge_base, repository_root, run_git,
};
use super::inputs::display_path;

/// The number of bytes of object names to write to git before reading its answers. With one more path, they fit into
/// the smallest pipe buffer, 16 KiB, so that there is no deadlock.
const MAX_REQUEST_BYTES: usize = 4096;

/// A revision of a repository.
pub(super) struct Revision {
    /// The root of its working tree.
    root: PathBuf,
    /// The commit.
    commit: String,
    batch: Mutex<CatFileBatch>,
    /// Cache of files that were read individually: inputs and locks, which are read more than once.
    cache: Mutex<BTreeMap<String, Option<Vec<u8>>>>,
    /// The paths of all files, read when a file is missing.
    paths: OnceLock<BTreeSet<String>>,
}

/// A running `git cat-file --batch`.
struct CatFileBatch {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Revision {
    /// Opens a revision of the repository that contains a folder.
    pub(super) fn open(folder: &Path, name: &str) -> Result<Self> {
        let root = resolve_links(Path::new(&repository_root(folder)?));
        let commit = match name.split_once("...") {
            Some((one, other)) => merge_base(&root, name, one, other)?,
            None => commit(&root, name)?,
        };
        let batch = Mutex::new(CatFileBatch::start(&root)?);
        Ok(Self {
            root,
            commit,
            batch,
            cache: Mutex::default(),
            paths: OnceLock::new(),
        })
    }

    /// The abbreviated commit hash.
    pub(super) fn short_hash(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }

    /// Whether a name is the commit's hash or a prefix of it.
    pub(super) fn has_hash(&self, name: &str) -> bool {
        name.len() >= 4 && self.commit.starts_with(name)
    }

    /// The commands to check out the revision in a separate worktree, the path of a folder there, and the command to
    /// clean up.
    pub(super) fn worktree_commands(&self, folder: &Path) -> Result<([String; 2], String, String)> {
        let repository_path = self.path_in_repository(folder)?;
        let add = format!("git worktree add --detach \"$base\" {}", self.short_hash());
        let below = format!("\"$base\"/{}", gpuc_syntax::shell::quote(&repository_path));
        let remove = "git worktree remove --force \"$base\"".to_owned();
        Ok((["base=$(mktemp -d)".to_owned(), add], below, remove))
    }

    /// Whether the checked-out branch contains this commit. Also true if there is no branch yet.
    pub(super) fn is_behind_head(&self) -> bool {
        let known = first_line(&self.root, &["rev-parse", "--verify", "--quiet", "HEAD"]);
        if !matches!(known, Ok(Some(_))) {
            return true;
        }
        let arguments = ["merge-base", "--is-ancestor", &self.commit, "HEAD"];
        // Only exit code 1 means no: in a shallow clone git can fail.
        let answer = run_git(&self.root, &arguments).ok();
        answer.and_then(|output| output.status.code()) != Some(1)
    }

    /// The submodule that contains a path, and the submodule's commit in this revision.
    pub(super) fn submodule(&self, path: &Path) -> Result<Option<(String, String)>> {
        let repository_path = self.path_in_repository(path)?;
        let folders = Path::new(&repository_path).ancestors().skip(1);
        let mut own = folders.filter(|it| !it.as_os_str().is_empty());
        let Some(folder) = own.find(|it| self.root.join(it).join(".git").exists()) else {
            return Ok(None);
        };
        let folder = display_path(folder)?;
        // `160000 commit <id>`, a tab and the path: <https://git-scm.com/docs/git-ls-tree#_output_format>, from memory.
        let tree =
            first_line(&self.root, &["ls-tree", &self.commit, "--", &folder])?.unwrap_or_default();
        let commit = tree.strip_prefix("160000 commit ");
        let commit = commit.and_then(|rest| rest.split_whitespace().next());
        Ok(commit.map(|commit| (folder, commit.get(..10).unwrap_or(commit).to_owned())))
    }

    /// The superproject of this repository and the submodule's path in it, if the current folder is outside the
    /// submodule. The user may refer to a revision of the superproject.
    pub(super) fn superproject(&self) -> Option<(PathBuf, String)> {
        let current_folder = resolve_links(&std::env::current_dir().ok()?);
        if current_folder.starts_with(&self.root) {
            return None;
        }
        let of = first_line(
            &self.root,
            &["rev-parse", "--show-superproject-working-tree"],
        );
        // Empty if there is none.
        let of = of.ok()?.filter(|path| !path.is_empty())?;
        let of = resolve_links(Path::new(&of));
        let below = display_path(self.root.strip_prefix(&of).ok()?).ok()?;
        Some((of, below))
    }

    /// Whether a path is inside the repository's working tree, even if it does not exist.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.path_in_repository(path).is_ok()
    }

    /// All files below a folder, by paths relative to the current folder; none if the folder does not exist.
    pub(super) fn files_below(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let repository_path = self.path_in_repository(folder)?;
        let repository_path = if repository_path.is_empty() {
            "."
        } else {
            &repository_path
        };
        let arguments = [
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "--full-tree",
            &self.commit,
            "--",
            repository_path,
        ];
        let output = run_git(&self.root, &arguments)?;
        if !output.status.success() {
            return Err(git_error("ls-tree", &output));
        }
        let names = output
            .stdout
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let prefix = if repository_path == "." {
            String::new()
        } else {
            format!("{repository_path}/")
        };
        let path = |name: &[u8]| {
            let name = String::from_utf8_lossy(name);
            let below = name.strip_prefix(&prefix)?;
            Some(folder.join(below))
        };
        Ok(names.filter_map(path).collect())
    }

    /// All files of the repository with this name, by paths relative to the current folder.
    pub(super) fn files_named(&self, name: &str) -> Result<Vec<PathBuf>> {
        let paths = self.files_below(&self.root.clone())?;
        let is_called = |path: &PathBuf| {
            path.file_name().is_some_and(|last| {
                super::inputs::is_cluster_file_name(&last.to_string_lossy(), name)
            })
        };
        let paths = paths.into_iter().filter(is_called);
        Ok(paths.map(|path| self.relative_path(&path)).collect())
    }

    /// Renamed files, as detected by git: the current path and the path in the revision.
    pub(super) fn renamed_files(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        // Compared with the index, not with the working tree: git would run the filters of the repository for it. A
        // renamed file is in the index, or unknown to git.
        let arguments = [
            "diff",
            "--cached",
            "--no-ext-diff",
            "--no-textconv",
            "--find-renames",
            "--diff-filter=R",
            "--name-status",
            "-z",
            &self.commit,
        ];
        let output = run_git(&self.root, &arguments)?;
        if !output.status.success() {
            return Err(git_error("diff", &output));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = text.split('\0').collect();
        // `R<likeness>`, the old path, the new one: <https://git-scm.com/docs/git-diff#_raw_output_format>, read
        // 2026-11-22.
        let pairs = words
            .chunks_exact(3)
            .map(|it| (self.root.join(it[2]), self.root.join(it[1])));
        Ok(pairs.collect())
    }

    /// The commits that changed a file, newest first, up to this revision: at most `most`.
    pub(super) fn history(&self, path: &Path, max_count: usize) -> Result<Vec<String>> {
        let repository_path = self.path_in_repository(path)?;
        let max_count = format!("--max-count={max_count}");
        let output = run_git(
            &self.root,
            &[
                "log",
                "--no-show-signature",
                "--format=%H",
                &max_count,
                &self.commit,
                "--",
                &repository_path,
            ],
        )?;
        if !output.status.success() {
            return Err(git_error("log", &output));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The same repository at another commit.
    pub(super) fn at_commit(&self, commit: &str) -> Result<Self> {
        Ok(Self {
            root: self.root.clone(),
            commit: commit.to_owned(),
            batch: Mutex::new(CatFileBatch::start(&self.root)?),
            cache: Mutex::default(),
            paths: OnceLock::new(),
        })
    }

    /// Whether two paths refer to the same file.
    pub(super) fn is_same(&self, one: &Path, other: &Path) -> bool {
        let repository_path = |path: &Path| self.path_in_repository(path).ok();
        repository_path(one).is_some_and(|one| repository_path(other) == Some(one))
    }

    /// A path of the repository, relative to the current folder.
    pub(super) fn relative_path(&self, path: &Path) -> PathBuf {
        let current_folder = std::env::current_dir().map(|here| resolve_links(&here));
        let full_path =
            resolve_links(&self.root).join(path.strip_prefix(&self.root).unwrap_or(path));
        let below = current_folder
            .ok()
            .and_then(|here| Some(full_path.strip_prefix(here).ok()?.to_owned()));
        below.unwrap_or(full_path)
    }

    /// Reads a file by its path relative to the current folder; `None` if the revision does not have it.
    pub(super) fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let repository_path = self.path_in_repository(path)?;
        if let Some(known) = self.lock_cache()?.get(&repository_path) {
            return Ok(known.clone());
        }
        let mut contents = self.read_inside(std::slice::from_ref(&repository_path))?;
        let content = contents.pop().flatten();
        self.lock_cache()?.insert(repository_path, content.clone());
        Ok(content)
    }

    fn lock_cache(&self) -> Result<MutexGuard<'_, BTreeMap<String, Option<Vec<u8>>>>> {
        let known = self.cache.lock();
        known.map_err(|_| anyhow!("reading from git was interrupted"))
    }

    /// Reads files by their paths below a folder, each as by [`read`](Self::read).
    pub(super) fn read_below(&self, folder: &Path, paths: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
        let repository_path = self.path_in_repository(folder)?;
        let below = |path: &&str| {
            let path = normalize(&Path::new(&repository_path).join(path));
            display_path(&path)
        };
        let paths = paths.iter().map(below).collect::<Result<Vec<_>>>()?;
        self.read_inside(&paths)
    }

    /// Reads files by their paths relative to the repository's root.
    fn read_inside(&self, paths: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        if let Some(path) = paths.iter().find(|path| path.contains('\n')) {
            bail!("the path {path} contains a line break");
        }
        let mut batch = self
            .batch
            .lock()
            .map_err(|_| anyhow!("reading from git was interrupted"))?;
        let mut contents = Vec::with_capacity(paths.len());
        let mut names = String::new();
        for path in paths {
            names.push_str(&format!("{}:{path}\n", self.commit));
            if names.len() > MAX_REQUEST_BYTES {
                batch.request(&names, &mut contents)?;
                names.clear();
            }
        }
        batch.request(&names, &mut contents)?;
        drop(batch);
        // Git responds alike to the name of a file that the revision lacks and to that of a damaged object.
        for (path, content) in paths.iter().zip(&contents) {
            if content.is_none() && self.has_path(path)? {
                bail!(
                    "git cannot read {path} of {}: the repository is damaged or incomplete\n\
                     help: run `git fsck`, or clone the repository again",
                    self.short_hash()
                );
            }
        }
        Ok(contents)
    }

    /// Whether the revision has a file with this path.
    fn has_path(&self, path: &str) -> Result<bool> {
        if let Some(paths) = self.paths.get() {
            return Ok(paths.contains(path));
        }
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", &self.commit];
        let output = run_git(&self.root, &arguments)?;
        if !output.status.success() {
            return Err(git_error("ls-tree", &output));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        // `<mode> blob <object>`, a tab and the path; submodules are commits.
        let entries = text.split('\0').filter_map(|entry| entry.split_once('\t'));
        let files = entries.filter(|(entry, _)| entry.contains(" blob "));
        let paths: BTreeSet<String> = files.map(|(_, path)| path.to_owned()).collect();
        let found = paths.contains(path);
        // Another thread may have been faster.
        let _ = self.paths.set(paths);
        Ok(found)
    }

    /// A path relative to the repository's root.
    fn path_in_repository(&self, path: &Path) -> Result<String> {
        let full_path =
            std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()))?;
        let full_path = resolve_links(&normalize(&full_path));
        let repository_path = full_path.strip_prefix(&self.root);
        let repository_path = repository_path.map_err(|_| {
            anyhow!(
                "{} is not in the repository {}",
                path.display(),
                self.root.display()
            )
        })?;
        display_path(repository_path)
    }
}

impl World for Revision {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match Self::read(self, Path::new(path)) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(ReadError::NotFound),
            Err(error) => Err(ReadError::Other(format!("{error:#}"))),
        }
    }
}

impl CatFileBatch {
    fn start(root: &Path) -> Result<Self> {
        let mut child = git_command(root)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run git")?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("git has no standard input or output");
        };
        let stdout = BufReader::new(stdout);
        Ok(Self {
            child,
            stdin,
            stdout,
        })
    }

    /// Reads the objects with these names, one per line; `None` for objects that are missing or not files.
    fn request(&mut self, names: &str, contents: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        self.stdin
            .write_all(names.as_bytes())
            .context("cannot write to git")?;
        self.stdin.flush().context("cannot write to git")?;
        for _ in names.lines() {
            contents.push(self.receive()?);
        }
        Ok(())
    }

    /// Reads the next answer: `<object> <kind> <size>`, the bytes and a line break, or `<name> missing`:
    /// <https://git-scm.com/docs/git-cat-file#_batch_output>, read 2026-11-22.
    fn receive(&mut self) -> Result<Option<Vec<u8>>> {
        let mut head = String::new();
        self.stdout
            .read_line(&mut head)
            .context("cannot read from git")?;
        let words: Vec<&str> = head.split_whitespace().collect();
        let [.., kind, size] = words.as_slice() else {
            bail!("git answered `{}`", head.trim_end());
        };
        if head.trim_end().ends_with(" missing") || head.trim_end().ends_with(" ambiguous") {
            return Ok(None);
        }
        let size: u64 = size
            .parse()
            .with_context(|| format!("git answered `{}`", head.trim_end()))?;
        let mut bytes = Vec::new();
        let read = self.stdout.by_ref().take(size + 1).read_to_end(&mut bytes);
        read.context("cannot read from git")?;
        bytes.pop();
        Ok((*kind == "blob").then_some(bytes))
    }
}

impl Drop for CatFileBatch {
    fn drop(&mut self) {
        // The process has no state to lose, and would wait for input.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A path without `.` and `..`.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            component => normal.push(component),
        }
    }
    normal
}

/// A path with links in its existing folders resolved, so that different paths to one file compare equal.
fn resolve_links(path: &Path) -> PathBuf {
    if let Ok(full_path) = path.canonicalize() {
        return full_path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve_links(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// More names and more answer bytes than a pipe buffer holds, in the requested order.
    #[test]
    fn many_files_are_read_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let long = "x".repeat(200);
        let name = |index: usize| format!("sub/{long}-{index}");
        fs::create_dir(root.join("sub")).expect("a folder");
        for index in (0..1000).step_by(2) {
            let text = format!("{index} ").repeat(100);
            fs::write(root.join(name(index)), text).expect("a file");
        }
        let identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
        let mut commit = identity.to_vec();
        commit.extend(["commit", "--quiet", "--message=all"]);
        for arguments in [&["init", "--quiet"][..], &["add", "--all"], &commit] {
            let output = run_git(root, arguments).expect("git");
            assert!(output.status.success(), "{output:?}");
        }

        let revision = Revision::open(root, "HEAD").expect("a commit");
        let names: Vec<String> = (0..1000).map(name).collect();
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let files = revision.read_below(root, &paths).expect("files");
        assert_eq!(files.len(), 1000);
        for (index, file) in files.into_iter().enumerate() {
            let expected = (index % 2 == 0).then(|| format!("{index} ").repeat(100).into_bytes());
            assert_eq!(file, expected, "{index}");
        }
    }
}
