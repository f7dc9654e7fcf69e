//! What a run reads: files that are named, and clusters found in folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gpuc::compile::{Compilation, Options, compile};
use gpuc::diag::{Levels, Report, words};
use gpuc::load::{self, ReadError, World};
use gpuc::lock::Lock;
use gpuc::resolve::Choices;
use gpuc::source::Sources;
use gpuc::yaml::limits;
use rayon::prelude::*;

use super::args::InputArgs;
use super::{Usage, write};

/// The name of a cluster's file.
const FILE: &str = "gpu-cluster.yaml";

/// Everything that was read, and what became of it.
pub(crate) struct Run {
    /// The files.
    pub(crate) sources: Sources,
    /// What there is to say of reading them.
    pub(crate) report: Report,
    /// One for each document, in the order of the files.
    pub(crate) compilations: Vec<Compilation>,
    /// Whether clusters were searched for in a folder, so that those not found are gone.
    pub(crate) is_fleet: bool,
}

/// Reads and compiles. Locks in `out` say what was chosen before.
pub(crate) fn compile_all(args: &InputArgs, out: Option<&Path>) -> Result<Run> {
    known_words(&args.deny)?;
    let (paths, is_fleet) = find(&args.paths)?;
    let mut sources = Sources::default();
    let mut report = Report::default();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut loaded = load::load_all(&Disk, &paths, &mut sources, &mut report);
    if is_fleet {
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
            // The files are made. The plans of a thousand clusters would only fill the memory.
            compilation.plan = None;
            compilation
        })
        .collect::<Vec<_>>();
    gpuc::fleet::check(&compilations, &mut report);
    Ok(Run {
        sources,
        report,
        compilations,
        is_fleet,
    })
}

/// Whether each word of `--deny` names a finding: a typing mistake must not open a gate.
fn known_words(deny: &[String]) -> Result<()> {
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
fn choices(out: &Path, name: &str) -> Choices {
    let lock: Option<Lock> = write::read_lock(&out.join(name)).ok().flatten();
    Choices {
        machines: lock.map_or_else(BTreeMap::new, |lock| lock.pins.machines),
    }
}

/// The files to read, and whether any was searched for.
fn find(paths: &[PathBuf]) -> Result<(Vec<String>, bool)> {
    let here = [default_path()];
    let paths = if paths.is_empty() { &here } else { paths };
    let mut files = Vec::new();
    let mut is_fleet = false;
    for path in paths {
        let metadata = fs::metadata(path);
        let metadata = metadata.with_context(|| format!("cannot read {}", path.display()))?;
        if metadata.is_dir() {
            is_fleet = true;
            let before = files.len();
            search(path, &mut files)?;
            if files.len() == before {
                bail!("no {FILE} and no *.{FILE} in {}", path.display());
            }
        } else {
            files.push(shown(path)?);
        }
    }
    // A file that is named twice is one file.
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    Ok((files, is_fleet))
}

fn default_path() -> PathBuf {
    let file = PathBuf::from(FILE);
    if file.is_file() {
        file
    } else {
        PathBuf::from(".")
    }
}

/// Looks through a folder, by name. Hidden folders and generated trees are passed over, links to folders not followed.
fn search(folder: &Path, files: &mut Vec<String>) -> Result<()> {
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
                search(&path, files)?;
            }
        } else if name == FILE || name.ends_with(&format!(".{FILE}")) {
            files.push(shown(&path)?);
        }
    }
    Ok(())
}

/// A path as messages show it: with `/`, without a leading `./`.
fn shown(path: &Path) -> Result<String> {
    let Some(text) = path.to_str() else {
        bail!("the path {} is not UTF-8", path.display());
    };
    let text = text.replace(std::path::MAIN_SEPARATOR, "/");
    Ok(text.strip_prefix("./").unwrap_or(&text).to_owned())
}

/// The files of this machine.
struct Disk;

impl World for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => ReadError::NotFound,
            _ => ReadError::Other(error.to_string()),
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(ReadError::Other("it is not a file".to_owned()));
        }
        if metadata.len() > limits::BYTES as u64 {
            let message = format!("it is larger than {} MiB", limits::BYTES >> 20);
            return Err(ReadError::Other(message));
        }
        fs::read(path).map_err(failed)
    }
}
