//! What a run reads: files that are named, and clusters found in folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gpuc::compile::{Compilation, Options, compile};
use gpuc::diag::{Levels, Report, words};
use gpuc::load::{self, ReadError, STDIN, World};
use gpuc::lock::Lock;
use gpuc::resolve::Choices;
use gpuc::source::Sources;
use gpuc::yaml::limits;
use rayon::prelude::*;

use super::args::InputArgs;
use super::{Usage, output, write};

/// The name of a cluster's file.
pub(super) const FILE: &str = "gpu-cluster.yaml";

/// The same file with the other ending that YAML has, which is not searched for.
const OTHER_ENDING: &str = "gpu-cluster.yml";

/// Everything that was read, and what became of it.
pub(crate) struct Run {
    /// The files.
    pub(crate) sources: Sources,
    /// What there is to say of reading them.
    pub(crate) report: Report,
    /// One for each document, in the order of the files.
    pub(crate) compilations: Vec<Compilation>,
    /// The files that were named or found, by the paths that messages show.
    pub(crate) files: Vec<String>,
    /// The folders that were searched: a cluster that was in one and is not found is gone.
    pub(crate) folders: Vec<PathBuf>,
}

impl Run {
    /// Whether clusters were searched for in a folder.
    pub(crate) fn is_fleet(&self) -> bool {
        !self.folders.is_empty()
    }
}

/// What becomes of plans when the files are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plans {
    /// They go: those of a thousand clusters would only fill the memory.
    Dropped,
    /// Somebody compares them.
    Kept,
}

/// Reads and compiles. Locks in `out` say what was chosen before.
pub(crate) fn compile_all(args: &InputArgs, out: Option<&Path>) -> Result<Run> {
    known_words(&args.deny)?;
    compile_found(args, find(&args.paths)?, out, Plans::Dropped)
}

/// Reads and compiles as [`compile_all`] does, and keeps the plans.
pub(crate) fn compile_whole(args: &InputArgs, out: Option<&Path>) -> Result<Run> {
    known_words(&args.deny)?;
    compile_found(args, find(&args.paths)?, out, Plans::Kept)
}

/// Whether there are clusters' files in a folder.
pub(super) fn holds_clusters(folder: &Path) -> Result<bool> {
    let mut files = Vec::new();
    search(folder, &mut files, &mut Vec::new())?;
    Ok(!files.is_empty())
}

/// Reads and compiles as [`compile_all`] does; paths that are gone are passed over.
pub(crate) fn compile_there(
    args: &InputArgs,
    gone: &[&PathBuf],
    out: Option<&Path>,
    plans: Plans,
) -> Result<Run> {
    let there: Vec<PathBuf> = args
        .paths
        .iter()
        .filter(|path| !gone.contains(path))
        .cloned()
        .collect();
    let found = if there.is_empty() {
        Found::default()
    } else {
        find(&there)?
    };
    compile_found(args, found, out, plans)
}

fn compile_found(args: &InputArgs, found: Found, out: Option<&Path>, plans: Plans) -> Result<Run> {
    let Found { files, folders } = found;
    let world = Disk {
        stdin: files
            .iter()
            .any(|file| file == STDIN)
            .then(read_stdin)
            .transpose()?,
    };
    let mut sources = Sources::default();
    let mut report = Report::default();
    let paths: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut loaded = load::load_all(&world, &paths, &mut sources, &mut report);
    if !folders.is_empty() {
        // A file that others build upon is a base, not a cluster, unless it is named on the command line.
        loaded.retain(|document| !document.is_base);
    }
    let choices = |name: &str| out.map(|out| choices(out, name)).unwrap_or_default();
    let options = Options {
        levels: Levels {
            deny: args.deny.clone(),
        },
        choices: &choices,
    };
    let compilations = loaded
        .into_par_iter()
        .map(|loaded| {
            let mut compilation = compile(loaded, &options);
            if plans == Plans::Dropped {
                compilation.plan = None;
            }
            compilation
        })
        .collect::<Vec<_>>();
    gpuc::fleet::check(&compilations, &mut report);
    Ok(Run {
        sources,
        report,
        compilations,
        files,
        folders,
    })
}

/// Whether each word of `--deny` names a finding: a typing mistake must not open a gate.
pub(crate) fn known_words(deny: &[String]) -> Result<()> {
    let codes = gpuc::codes();
    for word in deny.iter().filter(|word| *word != "warnings") {
        if codes
            .iter()
            .any(|code| code.id == word || code.name == word)
        {
            continue;
        }
        let names = codes.iter().map(|code| code.name).chain(["warnings"]);
        let help = match words::nearest(word, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write the name or code of a finding, or `warnings`".to_owned(),
        };
        return Err(Usage(format!("`--deny {word}` names no finding\nhelp: {help}")).into());
    }
    Ok(())
}

/// What gpuc picked for a cluster before, by its lock. A lock that cannot be read is complained of when it is written.
pub(super) fn choices(out: &Path, name: &str) -> Choices {
    let lock: Option<Lock> = write::read_lock(&out.join(name)).ok().flatten();
    Choices {
        machines: lock.map_or_else(BTreeMap::new, |lock| lock.pins.machines),
    }
}

/// What a command line stands for.
#[derive(Default)]
pub(super) struct Found {
    /// The files to read.
    pub(super) files: Vec<String>,
    /// The folders that were searched for them.
    pub(super) folders: Vec<PathBuf>,
}

/// The files to read, and where they were searched for.
pub(super) fn find(paths: &[PathBuf]) -> Result<Found> {
    let here = [default_path()];
    let paths = if paths.is_empty() { &here } else { paths };
    let mut found = Found::default();
    for path in paths {
        // A file of that name is `./-`.
        if path.as_os_str() == "-" {
            found.files.push(STDIN.to_owned());
            continue;
        }
        let metadata = fs::metadata(path);
        let metadata = metadata.with_context(|| format!("cannot read {}", path.display()))?;
        if metadata.is_dir() {
            find_in(path, &mut found)?;
        } else {
            found.files.push(shown(path)?);
        }
    }
    // A file that is named twice is one file.
    let mut seen = BTreeSet::new();
    found.files.retain(|file| seen.insert(file.clone()));
    Ok(found)
}

/// The files in a folder. There is at least one, and what looks like one is not passed over in silence.
fn find_in(folder: &Path, found: &mut Found) -> Result<()> {
    let (before, mut passed_over) = (found.files.len(), Vec::new());
    search(folder, &mut found.files, &mut passed_over)?;
    found.folders.push(folder.to_owned());
    let help =
        |file: &String| format!("rename {file} to end in .yaml, or name it on the command line");
    if found.files.len() > before {
        for file in &passed_over {
            output::say(&format!("note: not read: {}", help(file)));
        }
        return Ok(());
    }
    let help = passed_over.first().map(help);
    let help = help.unwrap_or_else(|| "`gpuc init` writes one to start from".to_owned());
    bail!(
        "no {FILE} and no *.{FILE} in {}\nhelp: {help}",
        folder.display()
    )
}

pub(super) fn default_path() -> PathBuf {
    let file = PathBuf::from(FILE);
    if file.is_file() {
        file
    } else {
        PathBuf::from(".")
    }
}

/// Looks through a folder, by name. Hidden folders and generated trees are passed over, links to folders not followed.
pub(super) fn search(
    folder: &Path,
    files: &mut Vec<String>,
    passed_over: &mut Vec<String>,
) -> Result<()> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries: Vec<_> = entries.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let generated = path.join(gpuc::lock::LOCK_FILE).exists();
            if !name.starts_with('.') && !generated {
                search(&path, files, passed_over)?;
            }
        } else if is_called(&name, FILE) {
            files.push(shown(&path)?);
        } else if is_called(&name, OTHER_ENDING) {
            passed_over.push(shown(&path)?);
        }
    }
    Ok(())
}

/// Whether a name is that of a cluster's file, `gpu-cluster.yaml` or `prod.gpu-cluster.yaml`.
pub(super) fn is_called(name: &str, file: &str) -> bool {
    let first = name.strip_suffix(file);
    first.is_some_and(|first| first.is_empty() || first.ends_with('.'))
}

/// A path as messages show it: with `/`, without a leading `./`.
pub(super) fn shown(path: &Path) -> Result<String> {
    let Some(text) = path.to_str() else {
        bail!("the path {} is not UTF-8", path.display());
    };
    let text = text.replace(std::path::MAIN_SEPARATOR, "/");
    Ok(text.strip_prefix("./").unwrap_or(&text).to_owned())
}

/// What stands on standard input, up to a little more than is read of any file.
pub(super) fn read_stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock().take(limits::BYTES as u64 + 1);
    let read = stdin.read_to_end(&mut bytes);
    read.context("cannot read standard input")?;
    Ok(bytes)
}

/// The files of this machine, and what standard input said when it was asked for.
pub(super) struct Disk {
    pub(super) stdin: Option<Vec<u8>>,
}

impl World for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => ReadError::NotFound,
            _ => ReadError::Other(error.to_string()),
        };
        let too_large = || {
            let message = format!("it is larger than {} MiB", limits::BYTES >> 20);
            Err(ReadError::Other(message))
        };
        if let Some(text) = self.stdin.as_ref().filter(|_| path == STDIN) {
            return if text.len() > limits::BYTES {
                too_large()
            } else {
                Ok(text.clone())
            };
        }
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(ReadError::Other("it is a folder".to_owned()));
        }
        // A pipe does not say how much comes, and a device may never end.
        let most = limits::BYTES as u64 + 1;
        let mut text = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(most).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 == most {
            return too_large();
        }
        Ok(text)
    }
}
