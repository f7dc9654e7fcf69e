//! `gpuc check --manifests`: manifests that others wrote, read, held against a cluster, and mended in place.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use gpuc::compile::Compilation;
use gpuc::diag::{self, Diagnostic, Levels, Report, Severity, words};
use gpuc::load::STDIN;
use gpuc::manifests::{self, Manifests, Object, PassedOver, Why};
use gpuc::model::Cluster;
use gpuc::source::Source;
use gpuc::yaml::{limits, read_text};

use super::args::{CheckArgs, Cli, InputArgs};
use super::inputs::{FILE, Run, is_called, read_stdin, shown};
use super::{Usage, output, write};

/// How many files a note names before it counts the rest.
const NAMED: usize = 4;

/// What stands for standard input on the command line; a file of that name is `./-`.
const DASH: &str = "-";

/// What stands after `--deny` for all warnings of manifests, and none of the cluster's: whoever writes manifests may
/// have no say there.
const MANIFEST_WARNINGS: &str = "manifest-warnings";

/// A file that was read.
struct Found {
    /// Its path, as messages show it.
    path: String,
    text: String,
    /// Why it is not written to, if it is not.
    kept: Option<&'static str>,
}

/// Whether the command line makes sense.
pub(super) fn usable(args: &CheckArgs) -> Result<()> {
    let is_stdin = |path: &&PathBuf| path.as_os_str() == DASH;
    let dashes = args.manifests.iter().filter(is_stdin).count();
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    let denies = args.input.deny.iter().any(|word| word == MANIFEST_WARNINGS);
    if denies && args.manifests.is_empty() {
        return refuse(
            "`--deny manifest-warnings` has no manifests\nhelp: name them with `--manifests`",
        );
    }
    if dashes > 0 && args.fix {
        return refuse(
            "`--fix` cannot write to standard input\nhelp: name the files, or leave `--fix` out",
        );
    }
    if dashes > 0 && args.input.paths.iter().any(|path| is_stdin(&path)) {
        return refuse(
            "standard input cannot be both the cluster and the manifests\nhelp: name a file for one of them",
        );
    }
    Ok(())
}

/// What the clusters are read with.
pub(super) fn input(args: &CheckArgs) -> InputArgs {
    let mut input = args.input.clone();
    input.deny.retain(|word| word != MANIFEST_WARNINGS);
    input
}

/// Checks the manifests, adds what is found to the run, and answers what was read, in words that follow the clusters.
pub(super) fn check(cli: &Cli, args: &CheckArgs, run: &mut Run) -> Result<String> {
    let files = find(args)?;
    let index = chosen(args, run)?;
    let compilation = &run.compilations[index];
    let config = compilation.config.as_ref();
    let cluster = compilation.cluster.as_ref();
    let Some((cluster, config)) = cluster.zip(config).filter(|_| is_sound(compilation)) else {
        output::say("note: the manifests are not checked until the cluster's own errors are gone");
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
    let heed = |found: &mut Vec<Diagnostic>| {
        diag::apply(found, &allowed, &levels);
    };
    let files = if args.fix {
        mend(cli, cluster, run, files, &heed)?
    } else {
        files
    };
    let (mut report, mut manifests) = (Report::default(), Manifests::default());
    let sources = &mut run.sources;
    for file in &files {
        manifests.read(&file.path, &file.text, sources, &mut report);
    }
    let is_read = |path: &str| files.iter().any(|file| file.path == path);
    if is_read(STDIN) && report.diagnostics().is_empty() && !manifests.has(STDIN, sources) {
        let text = "there is no object on standard input\nhelp: pipe what is applied, such as `helm template …` or \
                    `kubectl kustomize …`";
        return Err(Usage(text.to_owned()).into());
    }
    manifests::check(cluster, &manifests, sources, &mut report);
    heed(report.diagnostics_mut());
    run.report.append(report);
    let layered = manifests.layered(sources);
    let path = |index: &usize| {
        let span = manifests.objects[*index].root.span();
        sources.get(span.source).map(Source::path)
    };
    let patched: BTreeSet<_> = layered.iter().filter_map(path).collect();
    for note in notes(&manifests.passed_over, patched) {
        output::say(&note);
    }
    let whole = manifests.objects.iter().enumerate();
    let whole = whole.filter(|(index, _)| !layered.contains(index));
    let (looked, read): (Vec<_>, Vec<_>) = whole
        .map(|(_, object)| object)
        .partition(|object| manifests::is_looked_into(object));
    if !read.is_empty() {
        output::say(&only_read(&read));
    }
    let objects = words::counted(looked.len(), "object");
    let files = words::counted(manifests.files, "file");
    Ok(format!(" and {objects} of {files}"))
}

/// Whether nothing is wrong with a cluster itself. A warning that `--deny` makes an error of says nothing else than it
/// did.
fn is_sound(compilation: &Compilation) -> bool {
    let mut found = compilation.report.diagnostics().iter();
    !found.any(|found| found.code.severity == Severity::Error)
}

/// The cluster that the manifests are for.
fn chosen(args: &CheckArgs, run: &Run) -> Result<usize> {
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
                "no cluster is called `{wanted}`\nhelp: there is {}",
                words::some(&names, NAMED)
            )),
        };
    }
    match names.as_slice() {
        [_] => Ok(0),
        [] => refuse("there is no cluster to hold the manifests against".to_owned()),
        several => {
            // All that follows `--manifests` is one.
            let after = if args.input.paths.is_empty() && args.manifests.len() > 1 {
                ", or the cluster's file in front of `--manifests`"
            } else {
                ""
            };
            refuse(format!(
                "manifests are for one cluster, and {} were read\nhelp: write `--cluster` with one of {}{after}",
                several.len(),
                words::some(several, NAMED)
            ))
        }
    }
}

/// The files to check, in the order they were named; those of a folder by name.
fn find(args: &CheckArgs) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for path in &args.manifests {
        if path.as_os_str() == DASH {
            let bytes = read_stdin()?;
            named(add(STDIN.to_owned(), &bytes, None), true, &mut found)?;
            continue;
        }
        let metadata = fs::metadata(path);
        let metadata = metadata.with_context(|| format!("cannot read {}", path.display()))?;
        if !metadata.is_dir() {
            named(read(path)?, !metadata.is_file(), &mut found)?;
            continue;
        }
        let (mut paths, mut made) = (Vec::new(), Vec::new());
        search(path, &mut paths, &mut made)?;
        if paths.is_empty() {
            // Whoever names a folder of trees that gpuc made means them.
            for tree in std::mem::take(&mut made) {
                search(&tree, &mut paths, &mut made)?;
            }
        }
        if paths.is_empty() {
            bail!("no *.yaml, *.yml or *.json in {}", path.display());
        }
        for path in paths {
            match read(&path)? {
                Ok(file) => found.push(file),
                Err(why) => output::say(&format!("note: not checked: {why}")),
            }
        }
    }
    // A file that is named twice is one file.
    let mut seen = BTreeSet::new();
    found.retain(|file| seen.insert(file.path.clone()));
    Ok(found)
}

/// Adds what the command line names. No text is a mistake; so is a pipe with nothing in it, because what was to fill it
/// failed. An empty file is one that somebody left.
fn named(file: Result<Found, String>, is_pipe: bool, found: &mut Vec<Found>) -> Result<()> {
    let file = file.map_err(Usage)?;
    let is_nothing = |line: &str| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        line.is_empty() || line == "---" || line.starts_with('#')
    };
    if is_pipe && file.text.lines().all(is_nothing) {
        let text = format!(
            "`{}` has no manifest in it\nhelp: see whether what writes into it works",
            file.path
        );
        return Err(Usage(text).into());
    }
    found.push(file);
    Ok(())
}

/// Looks through a folder. Hidden folders, those of packages and clusters' own files are passed over, links to folders
/// not followed; trees that gpuc makes are set aside.
fn search(folder: &Path, paths: &mut Vec<PathBuf>, made: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries: Vec<_> = entries.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let path = entry.path();
        let Some(name) = name.to_str() else {
            let path = path.display();
            output::say(&format!("note: not checked: the path {path} is not UTF-8"));
            continue;
        };
        if entry.file_type()?.is_dir() {
            if name.starts_with('.') || name == "node_modules" {
                continue;
            }
            if path.join(gpuc::lock::LOCK_FILE).exists() {
                made.push(path);
            } else {
                search(&path, paths, made)?;
            }
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_ours = is_called(name, FILE);
        if matches!(ending, Some("yaml" | "yml" | "json")) && !is_ours && path.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Result<Found, String>> {
    let failed = || format!("cannot read {}", path.display());
    let link = fs::symlink_metadata(path).with_context(failed)?;
    // A pipe does not say how much comes, and a device may never end.
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(failed)?;
    let mut file = file.take(limits::BYTES as u64 + 1);
    file.read_to_end(&mut bytes).with_context(failed)?;
    Ok(add(shown(path)?, &bytes, kept(&link)))
}

/// Why a file is not written to, if it is not: the file that takes its place would be another one, or its owner wants
/// it as it is.
fn kept(file: &fs::Metadata) -> Option<&'static str> {
    #[cfg(unix)]
    let names = std::os::unix::fs::MetadataExt::nlink(file);
    #[cfg(not(unix))]
    let names = 1;
    if !file.is_file() {
        Some("a link, and not written through")
    } else if file.permissions().readonly() {
        Some("read-only, and not changed")
    } else if names > 1 {
        Some("a hard link, and not changed")
    } else {
        None
    }
}

/// A file, or why it is no text.
fn add(path: String, bytes: &[u8], kept: Option<&'static str>) -> Result<Found, String> {
    let text = read_text(&path, bytes)?;
    Ok(Found { path, text, kept })
}

/// Mends the files in place, and answers them as they are now.
fn mend(
    cli: &Cli,
    cluster: &Cluster,
    run: &Run,
    files: Vec<Found>,
    heed: &dyn Fn(&mut Vec<Diagnostic>),
) -> Result<Vec<Found>> {
    for file in &files {
        if let Some(why) = file.kept {
            output::say(&format!("note: {} is {why}", file.path));
        }
    }
    let texts = files.iter();
    let texts = texts.map(|file| (file.path.clone(), file.text.clone(), file.kept.is_none()));
    let texts: Vec<_> = texts.collect();
    let mended = manifests::mend(cluster, &run.sources, &texts, heed);
    let mut after = Vec::new();
    for mut file in files {
        if let Some(text) = mended.files.get(&file.path) {
            replace(Path::new(&file.path), &file.text, text)?;
            file.text.clone_from(text);
        }
        after.push(file);
    }
    if !mended.files.is_empty() && !cli.quiet {
        let names: Vec<_> = mended.files.keys().collect();
        output::say(&format!(
            "{} mended in {}",
            words::counted(mended.findings, "finding"),
            words::some(&names, NAMED)
        ));
    }
    Ok(after)
}

/// Puts a text in a file's place, unless somebody has changed the file since it was read.
fn replace(path: &Path, before: &str, text: &str) -> Result<()> {
    let failed = || format!("{}: cannot be mended", path.display());
    let found = fs::symlink_metadata(path).with_context(failed)?;
    let now = fs::read(path).with_context(failed)?;
    ensure!(
        found.is_file() && now == before.as_bytes(),
        "{}: has changed while it was looked at; run again",
        path.display()
    );
    write::put(path, text, false)?;
    fs::set_permissions(path, found.permissions()).with_context(failed)
}

/// What to say of objects that no rule knows.
fn only_read(objects: &[&Object]) -> String {
    let kinds: BTreeSet<_> = objects.iter().map(|it| it.kind.as_str()).collect();
    let kinds: Vec<_> = kinds.into_iter().collect();
    let (count, they) = match objects.len() {
        1 => ("1 object was".to_owned(), "its kind"),
        several => (format!("{several} objects were"), "their kinds"),
    };
    format!(
        "note: {count} only read, not checked, because gpuc does not know {they}: {}",
        words::some(&kinds, NAMED)
    )
}

/// What to say of what was not checked.
fn notes(passed_over: &[PassedOver], patched: BTreeSet<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    let of = |is: fn(&Why) -> bool| {
        let of = passed_over.iter().filter(|it| is(&it.why));
        of.map(|it| it.path.as_str()).collect::<Vec<_>>()
    };
    let mut note = |paths: Vec<&str>, text: &str| {
        if !paths.is_empty() {
            notes.push(format!("note: {}: {text}", words::some(&paths, NAMED)));
        }
    };
    note(
        of(|why| *why == Why::Template),
        "not checked, because it is a template; give `--manifests -` what `helm template` prints",
    );
    note(
        of(|why| *why == Why::NoObjects),
        "not checked, because there is no Kubernetes object in it",
    );
    note(
        of(|why| matches!(why, Why::Patch(_))),
        "not checked, because it is a patch; give `--manifests -` what `kubectl kustomize` prints",
    );
    note(
        patched.into_iter().collect(),
        "not checked as it stands, because a kustomization patches it; give `--manifests -` what `kubectl kustomize` \
         prints",
    );
    note(
        of(|why| *why == Why::Kustomization),
        "changes what is applied; give `--manifests -` what `kubectl kustomize` prints",
    );
    notes
}
