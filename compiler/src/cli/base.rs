//! The base of a comparison: the same files in a Git revision or in another folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_compile::lock::{LOCK_FILE, Lock};
use gpuc_diff::diff::Committed;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Levels, Report};
use gpuc_syntax::load::{self, Loaded, ReadError, World};
use gpuc_syntax::source::{Source, Sources};
use rayon::prelude::*;

use super::git::Revision;
use super::inputs::{self, CLUSTER_FILE, Disk};
use super::{Usage, write};

/// The base of a comparison.
pub(super) enum Base {
    /// A revision, with its name on the command line.
    Revision(String, Revision),
    /// A folder with the same files.
    Folder(PathBuf),
}

/// The base, read and compiled.
pub(super) struct BaseRun {
    /// Diagnostics about reading the base.
    pub(super) report: Report,
    /// The clusters that differ from the run.
    pub(super) compilations: Vec<Compilation>,
    /// The names of unchanged clusters, each with the path of its file in the base, as shown in messages.
    pub(super) unchanged: BTreeMap<String, String>,
    /// Renamed files: the path in the run and the path in the base.
    pub(super) renamed: Vec<(String, String)>,
}

impl Base {
    /// Opens the base with this name; `near` is a path of the run, which determines the repository.
    pub(super) fn open(name: &str, near: &Path) -> Result<Self> {
        let folder = Path::new(name);
        if folder.is_dir() {
            return Ok(Self::Folder(folder.to_owned()));
        }
        let mut near = if near.is_dir() {
            near
        } else {
            near.parent().unwrap_or(near)
        };
        if near.as_os_str().is_empty() {
            near = Path::new(".");
        }
        Ok(Self::Revision(name.to_owned(), Revision::open(near, name)?))
    }

    /// A hint if the checked-out branch lacks commits of the base, because these commits would appear as reverted.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Revision(name, revision) if !revision.is_behind_head() => Some(format!(
                "note: HEAD does not contain {name}, so changes that are only in {name} are shown as reverted\n\
                 help: compare with the merge base: `--base {name}...HEAD`"
            )),
            Self::Revision(name, revision) if !revision.has_hash(name) => {
                let (outer, folder) = revision.superproject()?;
                let outer = gpuc_syntax::shell::quote(&outer.display().to_string());
                let meant = gpuc_syntax::shell::quote(&format!("{name}:{folder}"));
                Some(format!(
                    "note: {folder} is a submodule, and {name} is a commit of the submodule's repository\n\
                     help: compare with the submodule's commit in the superproject: \
                     `--base \"$(git -C {outer} rev-parse {meant})\"`"
                ))
            }
            _ => None,
        }
    }

    /// The name of the base in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Revision(name, revision) if revision.has_hash(name) => name.clone(),
            Self::Revision(name, revision) => format!("{name} ({})", revision.short_hash()),
            Self::Folder(folder) => folder.display().to_string(),
        }
    }

    /// Commands to run scripts of a folder that exists only in the base, such as those that delete a cluster, from the
    /// current folder.
    pub(super) fn worktree_commands(
        &self,
        folder: &Path,
        commands: &[String],
    ) -> Result<Vec<String>> {
        let below = |folder: &str| {
            let commands = commands.iter();
            let all: Vec<String> = commands.map(|it| format!("{folder}/{it}")).collect();
            all
        };
        match self {
            Self::Revision(_, revision) => {
                let (add, there, remove) = revision.worktree_commands(folder)?;
                Ok([add.to_vec(), below(&there), vec![remove]].concat())
            }
            Self::Folder(base) => {
                let there = gpuc_syntax::shell::quote(&inputs::display_path(&base.join(folder))?);
                Ok(below(&there))
            }
        }
    }

    /// The path of a file of the base in messages.
    fn display_path(&self, path: &str) -> String {
        match self {
            Self::Revision(name, _) => format!("{name}:{path}"),
            Self::Folder(folder) => folder.join(path).display().to_string(),
        }
    }

    /// Reads a file, by its path in the run; `None` if the base does not have it.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Revision(_, revision) => revision.read(path),
            Self::Folder(folder) => {
                let path = folder.join(path);
                match write::read_regular(&path) {
                    Ok(bytes) => Ok(Some(bytes)),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(error) => {
                        Err(error).with_context(|| format!("cannot read {}", path.display()))
                    }
                }
            }
        }
    }

    /// Reads files, by their paths below a folder.
    fn read_below(&self, folder: &Path, paths: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
        match self {
            Self::Revision(_, revision) => revision.read_below(folder, paths),
            Self::Folder(_) => {
                let paths = paths.iter();
                paths.map(|path| self.read(&folder.join(path))).collect()
            }
        }
    }

    /// The cluster files at a path that exists only in the base. It is an error if there are none.
    pub(super) fn removed_cluster_files(&self, path: &Path) -> Result<Vec<String>> {
        if self.read(path)?.is_some() {
            return Ok(vec![inputs::display_path(path)?]);
        }
        let files = self.search(path)?;
        if files.is_empty() {
            return Err(Usage(format!(
                "{} does not exist, neither now nor in {}",
                path.display(),
                self.name()
            ))
            .into());
        }
        Ok(files)
    }

    /// The cluster files in a folder, with the rules of [`inputs::search`].
    fn search(&self, folder: &Path) -> Result<Vec<String>> {
        match self {
            Self::Folder(base) => {
                let mut files = Vec::new();
                let below = base.join(folder);
                if below.is_dir() {
                    inputs::search_folder(&below, &mut files, &mut Vec::new())?;
                }
                let below = |file: &String| {
                    let path = Path::new(file).strip_prefix(base);
                    inputs::display_path(path.unwrap_or(Path::new(file)))
                };
                files.iter().map(below).collect()
            }
            Self::Revision(_, revision) => {
                let paths = revision.files_below(folder)?;
                let name = |path: &Path| {
                    path.file_name()
                        .map(|name| name.to_string_lossy().into_owned())
                };
                let trees = paths
                    .iter()
                    .filter(|path| name(path).as_deref() == Some(LOCK_FILE));
                let trees: BTreeSet<&Path> = trees.filter_map(|path| path.parent()).collect();
                let is_passed_over = |path: &Path| {
                    let below = path.strip_prefix(folder).unwrap_or(path);
                    let mut parts = below.parent().into_iter().flat_map(Path::components);
                    parts.any(|component| component.as_os_str().to_string_lossy().starts_with('.'))
                        || path
                            .ancestors()
                            .skip(1)
                            .any(|above| above != folder && trees.contains(above))
                };
                let is_cluster = |path: &&PathBuf| {
                    let name = name(path).unwrap_or_default();
                    inputs::is_cluster_file_name(&name, CLUSTER_FILE) && !is_passed_over(path)
                };
                paths
                    .iter()
                    .filter(is_cluster)
                    .map(|path| inputs::display_path(path))
                    .collect()
            }
        }
    }

    /// The committed tree of a cluster in the base, if any.
    pub(super) fn committed(&self, folder: &Path) -> Result<Option<Committed>> {
        let Some((lock, lock_text)) = self.lock(folder)? else {
            return Ok(None);
        };
        let paths: Vec<&str> = lock.files.keys().map(String::as_str).collect();
        let mut files = BTreeMap::new();
        for (path, bytes) in paths.iter().zip(self.read_below(folder, &paths)?) {
            // Files that were deleted by hand are missing.
            if let Some(bytes) = bytes {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                files.insert((*path).to_owned(), text);
            }
        }
        Ok(Some(Committed {
            lock,
            lock_text,
            files,
            built_from: None,
        }))
    }

    fn lock(&self, folder: &Path) -> Result<Option<(Lock, String)>> {
        // The output folder can be outside the repository.
        if matches!(self, Self::Revision(_, revision) if !revision.covers(folder)) {
            return Ok(None);
        }
        let Some(bytes) = self.read(&folder.join(LOCK_FILE))? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Locks of incompatible gpuc versions are ignored.
        Ok(Lock::parse(&text).ok().map(|lock| (lock, text)))
    }

    /// Reads and compiles the run's input as it is in the base. Its sources are appended to the run's sources.
    pub(super) fn compile(
        &self,
        run: &inputs::Run,
        out: &Path,
        sources: &mut Sources,
    ) -> Result<BaseRun> {
        let mut files = run.files.clone();
        for folder in &run.folders {
            files.extend(self.search(folder)?);
        }
        let mut seen = BTreeSet::new();
        files.retain(|file| seen.insert(file.clone()));
        let (mut there, mut new) = (Vec::new(), Vec::new());
        for file in files {
            if self.read(Path::new(&file))?.is_some() {
                there.push(file);
            } else {
                new.push(file);
            }
        }
        self.refuse_submodules(&new)?;
        let renamed = self.renamed_files(run, &new)?;
        for (_, old) in &renamed {
            if !there.contains(old) {
                there.push(old.clone());
            }
        }
        if let (Self::Folder(base), true) = (self, there.is_empty()) {
            return Err(Usage(format!(
                "{} contains none of the compared files\n\
                 help: name a folder that contains these paths: {}",
                base.display(),
                run.files.join(", ")
            ))
            .into());
        }
        let (mut own, mut report) = (Sources::default(), Report::default());
        let paths: Vec<&str> = there.iter().map(String::as_str).collect();
        let mut loaded = load::load_all(self, &paths, &mut own, &mut report);
        if run.is_fleet() {
            loaded.retain(|document| !document.is_base);
        }
        let first = sources.count();
        for source in own.iter() {
            sources.add(&self.display_path(source.path()), source.text());
        }
        report.renumber(first);
        for document in &mut loaded {
            document.renumber(first);
        }
        let choices = |name: &str| self.choices(out, name);
        let options = Options {
            registry: &gpuc::REGISTRY,
            levels: Levels::default(),
            today: super::clock::today().ok(),
            choices: &choices,
        };
        let same_text = |one: u32, other: u32| {
            let text = |source| sources.get(source).map(Source::text);
            text(one).is_some() && text(one) == text(other)
        };
        let as_it_is = |document: &Loaded| {
            let has_same_name = |one: &&Compilation| {
                document.file == one.loaded.file
                    && document.poisoned.is_empty()
                    && one.loaded.poisoned.is_empty()
                    && document.root.is_identical(&one.loaded.root, &same_text)
            };
            let one = run.compilations.iter().find(has_same_name)?;
            let name = &one.config.as_ref()?.metadata.name.value;
            (inputs::earlier_choices(out, name) == choices(name)).then(|| name.clone())
        };
        let mut same = BTreeMap::new();
        loaded.retain(|document| {
            let source = sources.get(document.source);
            let file = source.map_or_else(String::new, |source| source.path().to_owned());
            as_it_is(document).is_none_or(|name| same.insert(name, file).is_some())
        });
        let compilations = loaded
            .into_par_iter()
            .map(|loaded| compile(loaded, &options));
        Ok(BaseRun {
            report,
            compilations: compilations.collect(),
            unchanged: same,
            renamed,
        })
    }

    /// Fails for files in submodules: a revision of the superproject contains only the submodule's commit, so the files
    /// would appear as new.
    fn refuse_submodules(&self, new: &[String]) -> Result<()> {
        let Self::Revision(_, revision) = self else {
            return Ok(());
        };
        for file in new {
            if let Some((folder, commit)) = revision.submodule(Path::new(file))? {
                let folder = revision.relative_path(Path::new(&folder));
                let folder = gpuc_syntax::shell::quote(&inputs::display_path(&folder)?);
                return Err(Usage(format!(
                    "{file} is in a submodule, and {} contains only the submodule's commit\n\
                     help: compare with that commit: `gpuc diff {folder} --base {commit}`; compare other files in a \
                     separate run",
                    self.name()
                ))
                .into());
            }
        }
        Ok(())
    }

    /// New files with their paths in the base: detected by Git as renames, or because a deleted file has a cluster of
    /// the same name.
    fn renamed_files(&self, run: &inputs::Run, new: &[String]) -> Result<Vec<(String, String)>> {
        let Self::Revision(_, revision) = self else {
            return Ok(Vec::new());
        };
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let mut former = Vec::new();
        let mut unknown = Vec::new();
        let renamed = revision.renamed_files()?;
        for file in new {
            let is_same_file =
                |(now, _): &&(PathBuf, PathBuf)| revision.is_same(now, Path::new(file));
            match renamed.iter().find(is_same_file) {
                Some((_, old)) => {
                    former.push((
                        file.clone(),
                        inputs::display_path(&revision.relative_path(old))?,
                    ));
                }
                None => unknown.push(file),
            }
        }
        let names: BTreeMap<&str, &String> = (run.compilations.iter())
            .filter_map(|one| {
                let path = run.sources.get(one.loaded.source)?.path();
                let file = *unknown.iter().find(|file| **file == path)?;
                Some((one.config.as_ref()?.metadata.name.value.as_str(), file))
            })
            .collect();
        if names.is_empty() {
            return Ok(former);
        }
        for file in revision.files_named(CLUSTER_FILE)? {
            if file.exists() {
                continue;
            }
            let file = inputs::display_path(&file)?;
            let (mut sources, mut report) = (Sources::default(), Report::default());
            let documents = load::load_all(self, &[file.as_str()], &mut sources, &mut report);
            let now = documents.iter().find_map(|document| {
                let name = document.root.get("metadata")?.get("name")?;
                names.get(name.text()?)
            });
            former.extend(now.map(|now| ((*now).clone(), file)));
        }
        Ok(former)
    }

    /// The path of a file of the base, from its path in messages.
    pub(super) fn path_from_display<'p>(&self, shown: &'p str) -> Option<&'p str> {
        match self {
            Self::Revision(name, _) => shown.strip_prefix(name.as_str())?.strip_prefix(':'),
            Self::Folder(folder) => Path::new(shown).strip_prefix(folder).ok()?.to_str(),
        }
    }

    /// The compilation that the base's tree was built from, if the tree is older than the base's input: the newest
    /// commit whose input has this digest.
    pub(super) fn built_from(
        &self,
        file: &str,
        input: &str,
        choices: &(dyn Fn(&str) -> Choices + Sync),
    ) -> Option<(String, Compilation)> {
        /// The maximum number of commits to search.
        const MAX_COMMITS: usize = 50;
        let Self::Revision(_, revision) = self else {
            return None;
        };
        let options = Options {
            registry: &gpuc::REGISTRY,
            levels: Levels::default(),
            today: super::clock::today().ok(),
            choices,
        };
        let commits = revision.history(Path::new(file), MAX_COMMITS).ok()?;
        commits.into_iter().find_map(|commit| {
            let then = Self::Revision(commit.clone(), revision.at_commit(&commit).ok()?);
            let (mut sources, mut report) = (Sources::default(), Report::default());
            let documents = load::load_all(&then, &[file], &mut sources, &mut report);
            let compilations = documents
                .into_iter()
                .map(|document| compile(document, &options));
            let mut matching = compilations.filter(|one| {
                one.output
                    .as_ref()
                    .is_some_and(|(_, lock)| lock.input == input)
            });
            matching
                .next()
                .map(|one| (commit.get(..10).unwrap_or(&commit).to_owned(), one))
        })
    }

    /// The choices for a cluster in the base.
    pub(super) fn choices(&self, out: &Path, name: &str) -> Choices {
        let lock = self.lock(&out.join(name)).ok().flatten();
        Choices {
            machines: lock.map_or_else(BTreeMap::new, |(lock, _)| lock.pins.machines),
        }
    }
}

impl World for Base {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self {
            Self::Revision(_, revision) => World::read(revision, path),
            Self::Folder(folder) => {
                let disk = Disk {
                    stdin: None,
                    named: Vec::new(),
                };
                let path = folder.join(path);
                World::read(&disk, &path.to_string_lossy())
            }
        }
    }
}
