//! The input of a run: named files, and clusters found in folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_compile::lock::Lock;
use gpuc_model::Cluster;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Levels, Report, closest_name, phrases};
use gpuc_syntax::load::{self, ReadError, STDIN, World};
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml::limits;
use rayon::prelude::*;

use super::args::InputArgs;
use super::{Usage, output, write};

/// The name of a cluster file.
pub(super) const CLUSTER_FILE: &str = "gpu-cluster.yaml";

/// The name with the other YAML extension, which is not searched for.
const OTHER_EXTENSION_FILE: &str = "gpu-cluster.yml";

/// The files of a run and their compilations.
pub(crate) struct Run {
    /// The files.
    pub(crate) sources: Sources,
    /// Diagnostics about reading the files.
    pub(crate) report: Report,
    /// One compilation per document, in the order of the files.
    pub(crate) compilations: Vec<Compilation>,
    /// The named and found files, by their paths in messages.
    pub(crate) files: Vec<String>,
    /// The searched folders. A cluster that was in one of them and is not found was deleted.
    pub(crate) folders: Vec<PathBuf>,
}

impl Run {
    /// Whether clusters were searched for in a folder.
    pub(crate) fn is_fleet(&self) -> bool {
        !self.folders.is_empty()
    }

    /// The compilation of the cluster with a name, or of the only cluster. Clusters that could not be resolved do not
    /// count.
    pub(crate) fn choose_cluster(&self, name: Option<&str>) -> Result<(&Compilation, &Cluster)> {
        let clusters: Vec<(&Compilation, &Cluster)> = (self.compilations.iter())
            .filter_map(|one| Some((one, one.cluster.as_ref()?)))
            .collect();
        let names = clusters.iter().map(|(_, it)| it.name.value.as_str());
        let usage = |message: String| Err(Usage(message).into());
        match (name, clusters.as_slice()) {
            (None, [only]) => Ok(*only),
            (None, []) => usage("the input contains no cluster".to_owned()),
            (None, _) => usage(format!(
                "the input contains the clusters {}\nhelp: name one with `--cluster`",
                names.collect::<Vec<_>>().join(", ")
            )),
            (Some(name), _) => match names.clone().position(|it| it == name) {
                Some(index) => Ok(clusters[index]),
                None => usage(format!(
                    "the input contains no cluster `{name}`\nhelp: the clusters are {}",
                    names.collect::<Vec<_>>().join(", ")
                )),
            },
        }
    }
}

/// Whether plans are kept after the files are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plans {
    /// Plans are dropped, to save memory.
    Dropped,
    /// Plans are kept for a comparison.
    Kept,
}

/// Reads and compiles. Locks in `out` contain earlier choices, such as machine types.
pub(crate) fn compile_all(args: &InputArgs, out: Option<&Path>) -> Result<Run> {
    check_denied_codes(&args.deny)?;
    compile_found(args, find_inputs(&args.paths)?, out, Plans::Dropped)
}

/// Reads and compiles as [`compile_all`] does, and keeps the plans.
pub(crate) fn compile_with_plans(args: &InputArgs, out: Option<&Path>) -> Result<Run> {
    check_denied_codes(&args.deny)?;
    compile_found(args, find_inputs(&args.paths)?, out, Plans::Kept)
}

/// Whether a folder contains cluster files.
pub(super) fn has_clusters(folder: &Path) -> Result<bool> {
    let mut files = Vec::new();
    search_folder(folder, &mut files, &mut Vec::new())?;
    Ok(!files.is_empty())
}

/// Reads and compiles as [`compile_all`] does, but skips deleted paths.
pub(crate) fn compile_existing(
    args: &InputArgs,
    deleted: &[&PathBuf],
    out: Option<&Path>,
    plans: Plans,
) -> Result<Run> {
    let existing: Vec<PathBuf> = args
        .paths
        .iter()
        .filter(|path| !deleted.contains(path))
        .cloned()
        .collect();
    let found = if existing.is_empty() {
        InputFiles::default()
    } else {
        find_inputs(&existing)?
    };
    compile_found(args, found, out, plans)
}

fn compile_found(
    args: &InputArgs,
    found: InputFiles,
    out: Option<&Path>,
    plans: Plans,
) -> Result<Run> {
    let InputFiles { files, folders } = found;
    let world = Disk {
        stdin: files
            .iter()
            .any(|file| file == STDIN)
            .then(read_stdin)
            .transpose()?,
        named: args
            .paths
            .iter()
            .map(|path| display_path(path))
            .collect::<Result<_>>()?,
    };
    let mut sources = Sources::default();
    let mut report = Report::default();
    let paths: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut loaded = load::load_all(&world, &paths, &mut sources, &mut report);
    if !folders.is_empty() {
        // A file that others extend is a base, not a cluster, unless it is named on the command line.
        loaded.retain(|document| !document.is_base);
    }
    let choices = |name: &str| {
        out.map(|out| earlier_choices(out, name))
            .unwrap_or_default()
    };
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels {
            deny: args.deny.clone(),
        },
        today: Some(super::clock::today()?),
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
    gpuc_compile::fleet::check(&compilations, &mut report);
    Ok(Run {
        sources,
        report,
        compilations,
        files,
        folders,
    })
}

/// Checks that each value of `--deny` is a known finding: a typo must not disable a gate.
pub(crate) fn check_denied_codes(deny: &[String]) -> Result<()> {
    let codes = gpuc::codes();
    for word in deny.iter().filter(|word| *word != "warnings") {
        if codes.iter().any(|code| code.is_called(word)) {
            continue;
        }
        let closest = phrases::closest_match(word, ["warnings"]);
        let help = match closest.or_else(|| closest_name(word, codes.iter().copied())) {
            Some(closest) => format!("did you mean `{closest}`?"),
            None => "use the name or code of a finding, or `warnings`".to_owned(),
        };
        return Err(Usage(format!(
            "unknown finding `{word}` in `--deny`\nhelp: {help}"
        ))
        .into());
    }
    Ok(())
}

/// Earlier choices for a cluster, from its lock. An unreadable lock is reported when it is written.
pub(super) fn earlier_choices(out: &Path, name: &str) -> Choices {
    let lock: Option<Lock> = write::read_lock(&out.join(name)).ok().flatten();
    Choices {
        machines: lock.map_or_else(BTreeMap::new, |lock| lock.pins.machines),
    }
}

/// The files and folders of a command line.
#[derive(Default)]
pub(super) struct InputFiles {
    /// The files to read.
    pub(super) files: Vec<String>,
    /// The folders that were searched for them.
    pub(super) folders: Vec<PathBuf>,
}

/// Finds the files to read.
pub(super) fn find_inputs(paths: &[PathBuf]) -> Result<InputFiles> {
    let default_paths = [default_path()];
    let paths = if paths.is_empty() {
        &default_paths
    } else {
        paths
    };
    let mut found = InputFiles::default();
    for path in paths {
        // A file with this name is written as `./-`.
        if path.as_os_str() == "-" {
            found.files.push(STDIN.to_owned());
            continue;
        }
        let metadata = fs::metadata(path);
        let metadata = metadata.with_context(|| format!("cannot read {}", path.display()))?;
        if metadata.is_dir() {
            find_in(path, &mut found)?;
        } else {
            found.files.push(display_path(path)?);
        }
    }
    // A file that is named twice is read once.
    let mut seen = BTreeSet::new();
    found.files.retain(|file| seen.insert(file.clone()));
    Ok(found)
}

/// Finds the cluster files in a folder. It is an error if there are none. Files with the extension .yml are reported.
fn find_in(folder: &Path, found: &mut InputFiles) -> Result<()> {
    let (before, mut passed_over) = (found.files.len(), Vec::new());
    search_folder(folder, &mut found.files, &mut passed_over)?;
    found.folders.push(folder.to_owned());
    let help = |file: &String| {
        format!("rename {file} to use the extension .yaml, or name it on the command line")
    };
    if found.files.len() > before {
        for file in &passed_over {
            output::print_message(&format!("note: {file} was not read: {}", help(file)));
        }
        return Ok(());
    }
    let help = passed_over.first().map(help);
    let help = help.unwrap_or_else(|| {
        "run `gpuc init --cloud aws` (or azure, gcp, on-prem) to create a starter file".to_owned()
    });
    bail!(
        "no {CLUSTER_FILE} and no *.{CLUSTER_FILE} in {}\nhelp: {help}",
        folder.display()
    )
}

pub(super) fn default_path() -> PathBuf {
    let file = PathBuf::from(CLUSTER_FILE);
    if file.is_file() {
        file
    } else {
        PathBuf::from(".")
    }
}

/// Searches a folder, in the order of names. Hidden folders and generated trees are skipped; symbolic links to folders
/// are not followed.
pub(super) fn search_folder(
    folder: &Path,
    files: &mut Vec<String>,
    skipped: &mut Vec<String>,
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
            let generated = path.join(gpuc_compile::lock::LOCK_FILE).exists();
            if !name.starts_with('.') && !generated {
                search_folder(&path, files, skipped)?;
            }
        } else if is_cluster_file_name(&name, CLUSTER_FILE) {
            files.push(display_path(&path)?);
        } else if is_cluster_file_name(&name, OTHER_EXTENSION_FILE) {
            skipped.push(display_path(&path)?);
        }
    }
    Ok(())
}

/// Whether a name is the name of a cluster file, `gpu-cluster.yaml` or `prod.gpu-cluster.yaml`.
pub(super) fn is_cluster_file_name(name: &str, file: &str) -> bool {
    let first = name.strip_suffix(file);
    first.is_some_and(|first| first.is_empty() || first.ends_with('.'))
}

/// A path for messages: with `/`, without a leading `./`.
pub(super) fn display_path(path: &Path) -> Result<String> {
    let Some(text) = path.to_str() else {
        bail!("the path {} is not UTF-8", path.display());
    };
    let text = text.replace(std::path::MAIN_SEPARATOR, "/");
    Ok(text.strip_prefix("./").unwrap_or(&text).to_owned())
}

/// Reads standard input, up to one byte over the size limit of files.
pub(super) fn read_stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock().take(limits::BYTES as u64 + 1);
    let read = stdin.read_to_end(&mut bytes);
    read.context("cannot read standard input")?;
    Ok(bytes)
}

/// The local file system, and the contents of standard input.
pub(super) struct Disk {
    pub(super) stdin: Option<Vec<u8>>,
    /// The paths on the command line, which may be pipes: the user chooses to wait for their writers.
    pub(super) named: Vec<String>,
}

/// The root of the Git repository around a file. A submodule belongs to the repository around it.
fn repository_around(file: &Path) -> Option<PathBuf> {
    let folders = file.ancestors().skip(1);
    let mut repositories = folders.filter(|folder| folder.join(".git").exists());
    let is_submodule = |folder: &&Path| {
        let link = fs::read_to_string(folder.join(".git"));
        link.is_ok_and(|link| link.contains("/modules/"))
    };
    let found = repositories.find(|folder| !is_submodule(folder));
    found.map(Path::to_owned)
}

/// The path without symbolic links; that of the parent folder if the file does not exist.
fn resolve(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().or_else(|| {
        let path = std::path::absolute(path).ok()?;
        let parent = fs::canonicalize(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    })
}

impl World for Disk {
    /// Without a repository, the file is the user's own, or one that was downloaded to be read.
    fn check_base(&self, from: &str, base: &str) -> Result<(), String> {
        let from = if from == STDIN { "./stdin" } else { from };
        let root = resolve(Path::new(from)).and_then(|from| repository_around(&from));
        let (Some(root), Some(base_path)) = (root, resolve(Path::new(base))) else {
            return Ok(());
        };
        let is_inside = base_path.starts_with(&root);
        if is_inside && !base_path.starts_with(root.join(".git")) {
            return Ok(());
        }
        let root = root.display();
        Err(format!(
            "the base `{base}` is not a file of the repository {root}"
        ))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => ReadError::NotFound,
            _ => ReadError::Other(error.to_string()),
        };
        let too_large = || {
            let message = format!("the file is larger than {} MiB", limits::BYTES >> 20);
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
            return Err(ReadError::Other("the path is a folder".to_owned()));
        }
        if !metadata.is_file() && !self.named.iter().any(|named| named == path) {
            return Err(ReadError::Other(write::NOT_REGULAR.to_owned()));
        }
        // The size of a pipe is unknown, and a device can be endless.
        let max = limits::BYTES as u64 + 1;
        let mut text = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(max).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 == max {
            return too_large();
        }
        Ok(text)
    }
}
