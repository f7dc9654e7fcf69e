//! What a run is compared with: the same files in a revision of git, or in another folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use gpuc::compile::{Compilation, Options, compile};
use gpuc::diag::{Levels, Report};
use gpuc::diff::Committed;
use gpuc::load::{self, Loaded, ReadError, World};
use gpuc::lock::{LOCK_FILE, Lock};
use gpuc::resolve::Choices;
use gpuc::source::{Source, Sources};
use rayon::prelude::*;

use super::Usage;
use super::git::Revision;
use super::inputs::{self, Disk, FILE};

/// What a run is compared with.
pub(super) enum Base {
    /// A revision, by the name that it was asked for.
    Revision(String, Revision),
    /// A folder that holds the same files.
    Folder(PathBuf),
}

/// The base, read and compiled.
pub(super) struct Before {
    /// What there is to say of reading it.
    pub(super) report: Report,
    /// The clusters that are not as they are in the run.
    pub(super) compilations: Vec<Compilation>,
    /// The names of those that are: what the run compiled is what they were; each with its file there, as messages call
    /// that.
    pub(super) same: BTreeMap<String, String>,
    /// Files that have another name now: what each is called in the run, and what it was called there.
    pub(super) renamed: Vec<(String, String)>,
}

impl Base {
    /// The base of this name; `near` is a path of the run, whose repository counts.
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

    /// What to type where the branch that is checked out lacks what the base has, so that what others did since reads
    /// as if it were taken back.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Revision(name, revision) if !revision.is_behind_head() => Some(format!(
                "note: HEAD does not contain {name}, so what is only there is told as if it were taken back\n\
                 help: compare with where they part: `--base {name}...HEAD`"
            )),
            Self::Revision(name, revision) if !revision.is_called(name) => {
                let (outer, folder) = revision.outer()?;
                let outer = gpuc::shell::quote(&outer.display().to_string());
                let meant = gpuc::shell::quote(&format!("{name}:{folder}"));
                Some(format!(
                    "note: {folder} is a submodule, and {name} names a commit of its own repository here\n\
                     help: compare with what the outer repository had of it: \
                     `--base \"$(git -C {outer} rev-parse {meant})\"`"
                ))
            }
            _ => None,
        }
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Revision(name, revision) if revision.is_called(name) => name.clone(),
            Self::Revision(name, revision) => format!("{name} ({})", revision.short()),
            Self::Folder(folder) => folder.display().to_string(),
        }
    }

    /// Commands of a folder that only the base has, such as those that remove a cluster: run there, by somebody who is
    /// where this program was run.
    pub(super) fn run_there(&self, folder: &Path, commands: &[String]) -> Result<Vec<String>> {
        let below = |folder: &str| {
            let commands = commands.iter();
            let all: Vec<String> = commands.map(|it| format!("{folder}/{it}")).collect();
            all
        };
        match self {
            Self::Revision(_, revision) => {
                let (add, there, remove) = revision.beside(folder)?;
                Ok([add.to_vec(), below(&there), vec![remove]].concat())
            }
            Self::Folder(base) => {
                let there = gpuc::shell::quote(&inputs::shown(&base.join(folder))?);
                Ok(below(&there))
            }
        }
    }

    /// What messages call a file of it.
    fn shown(&self, path: &str) -> String {
        match self {
            Self::Revision(name, _) => format!("{name}:{path}"),
            Self::Folder(folder) => folder.join(path).display().to_string(),
        }
    }

    /// A file, by the path that the run has for it; `None` where the base has none.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Revision(_, revision) => revision.read(path),
            Self::Folder(folder) => {
                let path = folder.join(path);
                match fs::read(&path) {
                    Ok(bytes) => Ok(Some(bytes)),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(error) => {
                        Err(error).with_context(|| format!("cannot read {}", path.display()))
                    }
                }
            }
        }
    }

    /// Files of it, by their paths below a folder.
    fn read_below(&self, folder: &Path, paths: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
        match self {
            Self::Revision(_, revision) => revision.read_below(folder, paths),
            Self::Folder(_) => {
                let paths = paths.iter();
                paths.map(|path| self.read(&folder.join(path))).collect()
            }
        }
    }

    /// The clusters' files that a path leads to there, which leads to none here. The error says that there are none.
    pub(super) fn gone(&self, path: &Path) -> Result<Vec<String>> {
        if self.read(path)?.is_some() {
            return Ok(vec![inputs::shown(path)?]);
        }
        let files = self.search(path)?;
        if files.is_empty() {
            return Err(Usage(format!(
                "there is nothing at {} now, and there was nothing in {}",
                path.display(),
                self.name()
            ))
            .into());
        }
        Ok(files)
    }

    /// The clusters' files in a folder, as [`inputs::search`] finds them in a folder of the disk.
    fn search(&self, folder: &Path) -> Result<Vec<String>> {
        match self {
            Self::Folder(base) => {
                let mut files = Vec::new();
                let below = base.join(folder);
                if below.is_dir() {
                    inputs::search(&below, &mut files, &mut Vec::new())?;
                }
                let below = |file: &String| {
                    let path = Path::new(file).strip_prefix(base);
                    inputs::shown(path.unwrap_or(Path::new(file)))
                };
                files.iter().map(below).collect()
            }
            Self::Revision(_, revision) => {
                let paths = revision.list(folder)?;
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
                    parts.any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
                        || path
                            .ancestors()
                            .skip(1)
                            .any(|above| above != folder && trees.contains(above))
                };
                let is_cluster = |path: &&PathBuf| {
                    let name = name(path).unwrap_or_default();
                    inputs::is_called(&name, FILE) && !is_passed_over(path)
                };
                paths
                    .iter()
                    .filter(is_cluster)
                    .map(|path| inputs::shown(path))
                    .collect()
            }
        }
    }

    /// The tree of a cluster as it was committed there, if it was.
    pub(super) fn committed(&self, folder: &Path) -> Result<Option<Committed>> {
        let Some((lock, lock_text)) = self.lock(folder)? else {
            return Ok(None);
        };
        let paths: Vec<&str> = lock.files.keys().map(String::as_str).collect();
        let mut files = BTreeMap::new();
        for (path, bytes) in paths.iter().zip(self.read_below(folder, &paths)?) {
            // What somebody deleted by hand is not there.
            if let Some(bytes) = bytes {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                files.insert((*path).to_owned(), text);
            }
        }
        Ok(Some(Committed {
            lock,
            lock_text,
            files,
            made_of: None,
        }))
    }

    fn lock(&self, folder: &Path) -> Result<Option<(Lock, String)>> {
        // Trees may be written anywhere.
        if matches!(self, Self::Revision(_, revision) if !revision.covers(folder)) {
            return Ok(None);
        }
        let Some(bytes) = self.read(&folder.join(LOCK_FILE))? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // A lock of an older or newer gpuc that this one cannot read says nothing.
        Ok(Lock::parse(&text).ok().map(|lock| (lock, text)))
    }

    /// Reads and compiles what a run reads, as it is in the base. Its files come after the run's own.
    pub(super) fn compile(
        &self,
        run: &inputs::Run,
        out: &Path,
        sources: &mut Sources,
    ) -> Result<Before> {
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
        let renamed = self.former(run, &new)?;
        for (_, old) in &renamed {
            if !there.contains(old) {
                there.push(old.clone());
            }
        }
        if let (Self::Folder(base), true) = (self, there.is_empty()) {
            return Err(Usage(format!(
                "{} has none of the files that are compared\n\
                 help: name the folder from which the same paths lead to them: {}",
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
            sources.add(&self.shown(source.path()), source.text());
        }
        report.renumber(first);
        for document in &mut loaded {
            document.renumber(first);
        }
        let choices = |name: &str| self.choices(out, name);
        let options = Options {
            levels: Levels::default(),
            choices: &choices,
        };
        let same_text = |one: u32, other: u32| {
            let text = |source| sources.get(source).map(Source::text);
            text(one).is_some() && text(one) == text(other)
        };
        let as_it_is = |document: &Loaded| {
            let is_it = |one: &&Compilation| {
                document.file == one.loaded.file
                    && document.poisoned.is_empty()
                    && one.loaded.poisoned.is_empty()
                    && document.root.is_copy(&one.loaded.root, &same_text)
            };
            let one = run.compilations.iter().find(is_it)?;
            let name = &one.config.as_ref()?.metadata.name.value;
            (inputs::choices(out, name) == choices(name)).then(|| name.clone())
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
        Ok(Before {
            report,
            compilations: compilations.collect(),
            same,
            renamed,
        })
    }

    /// Refuses files of submodules, of which a revision of the repository around them has no more than a commit: they
    /// would be told as new.
    fn refuse_submodules(&self, new: &[String]) -> Result<()> {
        let Self::Revision(_, revision) = self else {
            return Ok(());
        };
        for file in new {
            if let Some((folder, commit)) = revision.submodule(Path::new(file))? {
                let folder = revision.named(Path::new(&folder));
                let folder = gpuc::shell::quote(&inputs::shown(&folder)?);
                return Err(Usage(format!(
                    "{file} is in a submodule, and {} has of that only which commit it was at\n\
                     help: compare with that commit: `gpuc diff {folder} --base {commit}`; name what is in no submodule \
                     in a run of its own",
                    self.name()
                ))
                .into());
            }
        }
        Ok(())
    }

    /// New files, and what each was called there: by git's account of renames, or because a file that is no longer here
    /// has a cluster of the same name.
    fn former(&self, run: &inputs::Run, new: &[String]) -> Result<Vec<(String, String)>> {
        let Self::Revision(_, revision) = self else {
            return Ok(Vec::new());
        };
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let mut former = Vec::new();
        let mut unknown = Vec::new();
        let renamed = revision.renamed()?;
        for file in new {
            let is_it = |(now, _): &&(PathBuf, PathBuf)| revision.is_same(now, Path::new(file));
            match renamed.iter().find(is_it) {
                Some((_, old)) => {
                    former.push((file.clone(), inputs::shown(&revision.named(old))?));
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
        for file in revision.all(FILE)? {
            if file.exists() {
                continue;
            }
            let file = inputs::shown(&file)?;
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

    /// The path of a file of the base, by what messages call it.
    pub(super) fn path_of<'p>(&self, shown: &'p str) -> Option<&'p str> {
        match self {
            Self::Revision(name, _) => shown.strip_prefix(name.as_str())?.strip_prefix(':'),
            Self::Folder(folder) => Path::new(shown).strip_prefix(folder).ok()?.to_str(),
        }
    }

    /// What the tree of the base was made of, where that was an older state of the input than the base has: the newest
    /// such state of which gpuc makes this digest.
    pub(super) fn made_of(
        &self,
        file: &str,
        input: &str,
        choices: &(dyn Fn(&str) -> Choices + Sync),
    ) -> Option<(String, Compilation)> {
        /// How far back somebody may have forgotten to build.
        const MOST: usize = 50;
        let Self::Revision(_, revision) = self else {
            return None;
        };
        let options = Options {
            levels: Levels::default(),
            choices,
        };
        let commits = revision.history(Path::new(file), MOST).ok()?;
        commits.into_iter().find_map(|commit| {
            let then = Self::Revision(commit.clone(), revision.at(&commit).ok()?);
            let (mut sources, mut report) = (Sources::default(), Report::default());
            let documents = load::load_all(&then, &[file], &mut sources, &mut report);
            let made = documents
                .into_iter()
                .map(|document| compile(document, &options));
            let mut made = made.filter(|one| {
                one.output
                    .as_ref()
                    .is_some_and(|(_, lock)| lock.input == input)
            });
            made.next()
                .map(|one| (commit.get(..10).unwrap_or(&commit).to_owned(), one))
        })
    }

    /// What gpuc had picked for a cluster there.
    pub(super) fn choices(&self, out: &Path, name: &str) -> Choices {
        let lock = self.lock(&out.join(name)).ok().flatten();
        Choices {
            machines: lock.map_or_else(BTreeMap::new, |(lock, _)| lock.pins.machines),
        }
    }
}

/// Why a revision names no commit, and what to type.
pub(super) fn unknown(name: &str, has_commits: bool) -> anyhow::Error {
    if !has_commits {
        return anyhow!(
            "`{name}` names nothing yet: this repository has no commit\n\
             help: commit once (`git add --all && git commit`), or name a folder to compare with"
        );
    }
    if name.starts_with("HEAD") {
        return anyhow!(
            "`{name}` goes back further than the first commit that this repository has\n\
             help: compare with a commit that `git log` lists; in CI, check out with the whole history"
        );
    }
    anyhow!(
        "`{name}` is neither a folder nor a commit that this repository has\n\
         help: fetch it first (`git fetch origin main`; in CI, check out with the whole history)"
    )
}

impl World for Base {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self {
            Self::Revision(_, revision) => World::read(revision, path),
            Self::Folder(folder) => {
                let disk = Disk { stdin: None };
                let path = folder.join(path);
                World::read(&disk, &path.to_string_lossy())
            }
        }
    }
}
