//! `gpuc check --manifests`: checks existing manifests against a cluster, and fixes them in place.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use gpuc_compile::compile::Compilation;
use gpuc_manifests as manifests;
use gpuc_manifests::{Manifests, Object, SkipReason, SkippedDocument};
use gpuc_model::Cluster;
use gpuc_syntax::diag::{self, Applicability, Diagnostic, Levels, Report, Severity, phrases};
use gpuc_syntax::load::STDIN;
use gpuc_syntax::source::Source;
use gpuc_syntax::yaml::{limits, read_text};

use super::args::{CheckArgs, Cli, InputArgs};
use super::inputs::{CLUSTER_FILE, Run, display_path, is_cluster_file_name, read_stdin};
use super::{Usage, output, write};

/// The maximum number of files that a note lists by name.
const MAX_NAMED: usize = 4;

/// Standard input on the command line; a file with this name is written as `./-`.
const DASH: &str = "-";

/// The value of `--deny` for all warnings about manifests, but not about the cluster, which authors of manifests may be
/// unable to change.
const MANIFEST_WARNINGS: &str = "manifest-warnings";

/// A file that was read.
struct ManifestFile {
    /// The path for messages.
    path: String,
    text: String,
    /// The reason why the file is not written to, if any.
    write_obstacle: Option<&'static str>,
}

/// Validates the command line.
pub(super) fn validate_arguments(args: &CheckArgs) -> Result<()> {
    let is_stdin = |path: &&PathBuf| path.as_os_str() == DASH;
    let dashes = args.manifests.iter().filter(is_stdin).count();
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    let denies = args.input.deny.iter().any(|word| word == MANIFEST_WARNINGS);
    if denies && args.manifests.is_empty() {
        return refuse(
            "`--deny manifest-warnings` requires manifests\nhelp: name them with `--manifests`",
        );
    }
    if args.cluster.is_some() && args.manifests.is_empty() && args.against.is_empty() {
        return refuse(
            "`--cluster` requires something to compare with\nhelp: add `--manifests` or `--against`",
        );
    }
    if dashes + args.against.iter().filter(is_stdin).count() > 1 {
        return refuse("standard input can be named once\nhelp: name a file for the others");
    }
    let is_read_twice = args.input.paths.iter().any(|path| is_stdin(&path));
    if is_read_twice && args.against.iter().any(|path| is_stdin(&path)) {
        return refuse(
            "standard input cannot be both the cluster and the node pools\nhelp: name a file for one of them",
        );
    }
    if dashes > 0 && args.fix {
        return refuse(
            "`--fix` cannot write to standard input\nhelp: name the files, or remove `--fix`",
        );
    }
    if dashes > 0 && args.input.paths.iter().any(|path| is_stdin(&path)) {
        return refuse(
            "standard input cannot be both the cluster and the manifests\nhelp: name a file for one of them",
        );
    }
    Ok(())
}

/// The input arguments for the clusters.
pub(super) fn cluster_input(args: &CheckArgs) -> InputArgs {
    let mut input = args.input.clone();
    input.deny.retain(|word| word != MANIFEST_WARNINGS);
    input
}

/// Checks the manifests and adds the findings to the run. Returns a phrase about the checked objects, to follow the
/// number of clusters.
pub(super) fn check(cli: &Cli, args: &CheckArgs, run: &mut Run) -> Result<String> {
    let files = find_files(args)?;
    let index = select_cluster(args, run, "manifests")?;
    let compilation = &run.compilations[index];
    let config = compilation.config.as_ref();
    let cluster = compilation.cluster.as_ref();
    let Some((cluster, config)) = cluster.zip(config).filter(|_| has_no_errors(compilation)) else {
        output::print_message(
            "note: the manifests were not checked, because the cluster has errors",
        );
        return Ok(String::new());
    };
    let allowed: Vec<_> = config.allow.iter().map(|word| word.value.clone()).collect();
    let denied = args.input.deny.iter();
    let denied = denied.map(|word| match word.as_str() {
        MANIFEST_WARNINGS => "warnings".to_owned(),
        word => word.to_owned(),
    });
    let levels = Levels {
        deny: denied.collect(),
    };
    let apply_levels = |found: &mut Vec<Diagnostic>| {
        diag::apply_levels(found, &allowed, &levels);
    };
    let files = if args.fix {
        let applicability = if args.unsafe_fixes {
            Applicability::Unsafe
        } else {
            Applicability::Safe
        };
        fix_files(cli, cluster, run, files, applicability, &apply_levels)?
    } else {
        files
    };
    let (mut report, mut manifests) = (Report::default(), Manifests::default());
    let sources = &mut run.sources;
    for file in &files {
        manifests.read(&file.path, &file.text, sources, &mut report);
    }
    let is_read = |path: &str| files.iter().any(|file| file.path == path);
    if is_read(STDIN) && report.diagnostics().is_empty() && !manifests.contains_file(STDIN, sources)
    {
        let text = "no Kubernetes object on standard input\nhelp: pipe the output of `helm template …` or \
                    `kubectl kustomize …`";
        return Err(Usage(text.to_owned()).into());
    }
    manifests::check(cluster, &manifests, sources, &mut report);
    apply_levels(report.diagnostics_mut());
    if args.fix && !args.unsafe_fixes && !cli.quiet {
        let is_unsafe = |found: &&Diagnostic| {
            let fix = found.fix.as_ref();
            let path = sources.get(found.primary.span.source).map(Source::path);
            let file = files.iter().find(|file| Some(file.path.as_str()) == path);
            fix.is_some_and(|fix| fix.applicability == Applicability::Unsafe)
                && file.is_some_and(|file| file.write_obstacle.is_none())
        };
        let count = report.diagnostics().iter().filter(is_unsafe).count();
        if count > 0 {
            output::print_message(&format!(
                "note: `--unsafe-fixes` also fixes {}: review the difference afterwards",
                phrases::pluralize(count, "finding")
            ));
        }
    }
    run.report.append(report);
    let layered = manifests.patched_objects(sources);
    let path = |index: &usize| {
        let span = manifests.objects[*index].root.span();
        sources.get(span.source).map(Source::path)
    };
    let patched: BTreeSet<_> = layered.iter().filter_map(path).collect();
    for note in skipped_notes(&manifests.skipped, patched) {
        output::print_message(&note);
    }
    let applied = manifests.objects.iter().enumerate();
    let applied = applied.filter(|(index, _)| !layered.contains(index));
    let (checked, read): (Vec<_>, Vec<_>) = applied
        .map(|(_, object)| object)
        .partition(|object| manifests::is_checked(object));
    if !read.is_empty() {
        output::print_message(&unchecked_note(&read));
    }
    let objects = phrases::pluralize(checked.len(), "object");
    let files = phrases::pluralize(manifests.files, "file");
    Ok(format!(" and {objects} of {files}"))
}

/// Whether a cluster has no errors of its own. Warnings that `--deny` turns into errors do not count.
pub(super) fn has_no_errors(compilation: &Compilation) -> bool {
    let mut found = compilation.report.diagnostics().iter();
    !found.any(|found| found.code.severity == Severity::Error)
}

/// The cluster to compare with the manifests, or with something else.
pub(super) fn select_cluster(args: &CheckArgs, run: &Run, what: &str) -> Result<usize> {
    let name = |compilation: &Compilation| {
        let config = compilation.config.as_ref();
        config.map_or_else(String::new, |it| it.metadata.name.value.clone())
    };
    let names: Vec<_> = run.compilations.iter().map(name).collect();
    let refuse = |text: String| Err(Usage(text).into());
    if let Some(wanted) = &args.cluster {
        return match names.iter().position(|name| name == wanted) {
            Some(index) => Ok(index),
            None => refuse(format!(
                "unknown cluster `{wanted}`\nhelp: use one of {}",
                phrases::quoted_list(&names, MAX_NAMED)
            )),
        };
    }
    match names.as_slice() {
        [_] => Ok(0),
        [] => refuse(format!("there is no cluster to compare with the {what}")),
        several => {
            // All arguments after `--manifests` are manifests.
            let after = if args.input.paths.is_empty() && args.manifests.len() > 1 {
                ", or write the cluster's file before `--manifests`"
            } else {
                ""
            };
            refuse(format!(
                "{what} can only be compared with one cluster, but the input has {}\n\
                 help: set `--cluster` to one of {}{after}",
                several.len(),
                phrases::quoted_list(several, MAX_NAMED)
            ))
        }
    }
}

/// The files to check, in the order of the command line; files of a folder in the order of names.
fn find_files(args: &CheckArgs) -> Result<Vec<ManifestFile>> {
    let mut found = Vec::new();
    for path in &args.manifests {
        if path.as_os_str() == DASH {
            let bytes = read_stdin()?;
            add_named(
                decode_file(STDIN.to_owned(), &bytes, None),
                true,
                &mut found,
            )?;
            continue;
        }
        let metadata = fs::metadata(path);
        let metadata = metadata.with_context(|| format!("cannot read {}", path.display()))?;
        if !metadata.is_dir() {
            add_named(read_file(path)?, !metadata.is_file(), &mut found)?;
            continue;
        }
        let (mut paths, mut trees) = (Vec::new(), Vec::new());
        search_folder(path, &mut paths, &mut trees)?;
        if paths.is_empty() {
            // If a folder contains only generated trees, check these.
            for tree in std::mem::take(&mut trees) {
                search_folder(&tree, &mut paths, &mut trees)?;
            }
        }
        if paths.is_empty() {
            bail!("no *.yaml, *.yml or *.json in {}", path.display());
        }
        for path in paths {
            match read_file(&path)? {
                Ok(file) => found.push(file),
                Err(reason) => output::print_message(&format!("note: file not checked: {reason}")),
            }
        }
    }
    // A file that is named twice is one file.
    let mut seen = BTreeSet::new();
    found.retain(|file| seen.insert(file.path.clone()));
    Ok(found)
}

/// Adds a file that the command line names. An unreadable file is an error, and so is an empty pipe, because the
/// command that writes to it failed. An empty regular file is not an error.
fn add_named(
    file: Result<ManifestFile, String>,
    is_pipe: bool,
    found: &mut Vec<ManifestFile>,
) -> Result<()> {
    let file = file.map_err(Usage)?;
    let is_nothing = |line: &str| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        line.is_empty() || line == "---" || line.starts_with('#')
    };
    if is_pipe && file.text.lines().all(is_nothing) {
        let text = format!(
            "`{}` contains no manifest\nhelp: check that the command that writes to it succeeds",
            file.path
        );
        return Err(Usage(text).into());
    }
    found.push(file);
    Ok(())
}

/// Searches a folder. Hidden folders, package folders and cluster files are skipped; symbolic links to folders are not
/// followed. Generated trees are collected separately.
fn search_folder(folder: &Path, paths: &mut Vec<PathBuf>, trees: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries: Vec<_> = entries.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let path = entry.path();
        let Some(name) = name.to_str() else {
            let path = path.display();
            output::print_message(&format!("note: not checked: the path {path} is not UTF-8"));
            continue;
        };
        if entry.file_type()?.is_dir() {
            if name.starts_with('.') || name == "node_modules" {
                continue;
            }
            if path.join(gpuc_compile::lock::LOCK_FILE).exists() {
                trees.push(path);
            } else {
                search_folder(&path, paths, trees)?;
            }
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_ours = is_cluster_file_name(name, CLUSTER_FILE);
        if matches!(ending, Some("yaml" | "yml" | "json")) && !is_ours && path.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Result<ManifestFile, String>> {
    let failed = || format!("cannot read {}", path.display());
    let link = fs::symlink_metadata(path).with_context(failed)?;
    // The size of a pipe is unknown, and a device can be endless.
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(failed)?;
    let mut file = file.take(limits::BYTES as u64 + 1);
    file.read_to_end(&mut bytes).with_context(failed)?;
    Ok(decode_file(
        display_path(path)?,
        &bytes,
        write_obstacle(&link),
    ))
}

/// The reason why a file is not written to, if any: replacing it would break a link, or it is read-only.
fn write_obstacle(file: &fs::Metadata) -> Option<&'static str> {
    #[cfg(unix)]
    let names = std::os::unix::fs::MetadataExt::nlink(file);
    #[cfg(not(unix))]
    let names = 1;
    if !file.is_file() {
        Some("a symbolic link and was not changed")
    } else if file.permissions().readonly() {
        Some("read-only and was not changed")
    } else if names > 1 {
        Some("a hard link and was not changed")
    } else {
        None
    }
}

/// Decodes a file, or returns the reason why it is not text.
fn decode_file(
    path: String,
    bytes: &[u8],
    write_obstacle: Option<&'static str>,
) -> Result<ManifestFile, String> {
    let text = read_text(&path, bytes)?;
    Ok(ManifestFile {
        path,
        text,
        write_obstacle,
    })
}

/// Fixes the files in place and returns their new contents.
fn fix_files(
    cli: &Cli,
    cluster: &Cluster,
    run: &Run,
    files: Vec<ManifestFile>,
    applicability: Applicability,
    apply_levels: &dyn Fn(&mut Vec<Diagnostic>),
) -> Result<Vec<ManifestFile>> {
    for file in &files {
        if let Some(reason) = file.write_obstacle {
            output::print_message(&format!("note: {} is {reason}", file.path));
        }
    }
    let texts = files.iter();
    let texts = texts.map(|file| {
        (
            file.path.clone(),
            file.text.clone(),
            file.write_obstacle.is_none(),
        )
    });
    let texts: Vec<_> = texts.collect();
    let fixed = manifests::fix_files(cluster, &run.sources, &texts, applicability, apply_levels);
    let mut after = Vec::new();
    for mut file in files {
        if let Some(text) = fixed.files.get(&file.path) {
            replace_contents(Path::new(&file.path), &file.text, text)?;
            file.text.clone_from(text);
        }
        after.push(file);
    }
    if !fixed.files.is_empty() && !cli.quiet {
        let names: Vec<_> = fixed.files.keys().collect();
        output::print_message(&format!(
            "{} fixed in {}",
            phrases::pluralize(fixed.fixed_count, "finding"),
            phrases::quoted_list(&names, MAX_NAMED)
        ));
    }
    Ok(after)
}

/// Replaces a file's contents, unless the file has changed since it was read.
fn replace_contents(path: &Path, before: &str, text: &str) -> Result<()> {
    let failed = || format!("{}: cannot be fixed", path.display());
    let found = fs::symlink_metadata(path).with_context(failed)?;
    let now = fs::read(path).with_context(failed)?;
    ensure!(
        found.is_file() && now == before.as_bytes(),
        "{}: changed during the check; run the command again",
        path.display()
    );
    write::write_atomically(path, text, false)?;
    fs::set_permissions(path, found.permissions()).with_context(failed)
}

/// A note about objects of kinds that no rule checks.
fn unchecked_note(objects: &[&Object]) -> String {
    let kinds: BTreeSet<_> = objects.iter().map(|it| it.kind.as_str()).collect();
    let kinds: Vec<_> = kinds.into_iter().collect();
    let count = match objects.len() {
        1 => "1 object was".to_owned(),
        several => format!("{several} objects were"),
    };
    format!(
        "note: {count} not checked, because gpuc has no rules for the kind: {}",
        phrases::quoted_list(&kinds, MAX_NAMED)
    )
}

/// Notes about files that were not checked.
fn skipped_notes(passed_over: &[SkippedDocument], patched: BTreeSet<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    let paths_with = |is: fn(&SkipReason) -> bool| {
        let files = passed_over.iter().filter(|file| is(&file.reason));
        files.map(|file| file.path.as_str()).collect::<Vec<_>>()
    };
    let mut note = |paths: Vec<&str>, text: &str| {
        if !paths.is_empty() {
            notes.push(format!(
                "note: {}: {text}",
                phrases::quoted_list(&paths, MAX_NAMED)
            ));
        }
    };
    note(
        paths_with(|reason| *reason == SkipReason::Template),
        "not checked, because it is a template; pipe the output of `helm template` to `--manifests -`",
    );
    note(
        paths_with(|reason| *reason == SkipReason::NoObjects),
        "not checked, because it contains no Kubernetes object",
    );
    note(
        paths_with(|reason| matches!(reason, SkipReason::Patch(_))),
        "patches are not checked; pipe the output of `kubectl kustomize` to `--manifests -`",
    );
    note(
        patched.into_iter().collect(),
        "not checked, because a kustomization patches it; pipe the output of `kubectl kustomize` to `--manifests -`",
    );
    note(
        paths_with(|reason| *reason == SkipReason::Kustomization),
        "changes the applied objects; pipe the output of `kubectl kustomize` to `--manifests -`",
    );
    notes
}
