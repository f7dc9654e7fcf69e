//! `gpuc build`: trees, written or compared.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use gpuc::compile::Compilation;
use rayon::prelude::*;

use super::args::{BuildArgs, Cli};
use super::findings::{self, Accompany};
use super::inputs::Run;
use super::write::{self, Changes, Refused};
use super::{Exit, inputs, orphans, output, summary};

/// Compiles, then writes every cluster's tree, or with `--check` says what differs. When one cluster of a run has an
/// error, none is written.
pub(crate) fn run(cli: &Cli, args: &BuildArgs) -> Result<Exit> {
    let begin = Instant::now();
    let run = inputs::compile_all(&args.input, Some(&args.out))?;
    let exit = findings::print(cli, &args.input, &run, Accompany::InText)?;
    if exit != Exit::Fine {
        return Ok(exit);
    }
    let compiled = begin.elapsed();
    let written: Vec<_> = run
        .compilations
        .par_iter()
        .map(|compilation| {
            let begin = Instant::now();
            let outcome = one(args, &run, compilation);
            (compilation, outcome, begin.elapsed())
        })
        .collect();
    let share = compiled / u32::try_from(written.len().max(1)).unwrap_or(u32::MAX);
    let mut exit = Exit::Fine;
    let mut built = 0;
    for (compilation, outcome, elapsed) in &written {
        match outcome {
            Ok(changes) => {
                built += usize::from(changes.is_empty() || !args.check);
                exit = exit.max(report(cli, args, compilation, changes, share + *elapsed)?);
            }
            Err(error) => exit = exit.max(failed(error)),
        }
    }
    exit = exit.max(orphans::look_after(cli, args, &run)?);
    if exit == Exit::Fine && !cli.quiet && !args.check && built > 0 {
        output::say(&next(args, &run.compilations));
    }
    Ok(exit)
}

/// Says why the files of one cluster are as they were. The others go on.
pub(super) fn failed(error: &anyhow::Error) -> Exit {
    output::say(&format!("error: {error:#}"));
    if error.is::<Refused>() {
        Exit::Differs
    } else {
        Exit::CouldNot
    }
}

/// The folder of a cluster.
pub(super) fn folder(out: &Path, compilation: &Compilation) -> PathBuf {
    out.join(name(compilation))
}

/// The cluster's name; nothing where it could not be read.
fn name(compilation: &Compilation) -> &str {
    let config = compilation.config.as_ref();
    config.map_or("", |config| config.metadata.name.value.as_str())
}

fn one(args: &BuildArgs, run: &Run, compilation: &Compilation) -> Result<Changes> {
    let output = compilation.output.as_ref();
    let (tree, lock) =
        output.unwrap_or_else(|| unreachable!("a document without errors has a tree"));
    let folder = folder(&args.out, compilation);
    let file = run.sources.get(compilation.loaded.source);
    let file = file.map_or("", |file| file.path());
    let mut lock = lock.clone();
    lock.from = orphans::remembered(&args.out, &folder, file).or_else(|| {
        // What was known stays known when the same cluster is built from standard input, or from a copy.
        write::read_lock(&folder).ok().flatten()?.from
    });
    if args.check {
        write::check(&folder, tree, &lock)
    } else {
        if !args.force {
            orphans::refuse_another(&folder, name(compilation), lock.from.as_deref())?;
        }
        write::write(&folder, tree, &lock, args.force)
    }
}

/// One line for each cluster; with `--check`, the files that differ as data.
fn report(
    cli: &Cli,
    args: &BuildArgs,
    compilation: &Compilation,
    changes: &Changes,
    elapsed: std::time::Duration,
) -> Result<Exit> {
    if !args.check {
        if !cli.quiet {
            output::say(&summary::line(compilation, changes, elapsed));
            for script in changes.removed.iter().filter(|path| makes_machines(path)) {
                output::say(&format!(
                    "note: {script} is gone, and what it made is not: it stays in the cloud and on the bill until you \
                     delete it there"
                ));
            }
        }
        return Ok(Exit::Fine);
    }
    if changes.is_empty() {
        return Ok(Exit::Fine);
    }
    let folder = folder(&args.out, compilation);
    let mut text = String::new();
    let groups = [
        ("missing", &changes.added),
        ("stale", &changes.changed),
        ("orphan", &changes.removed),
        ("edited by hand", &changes.edited_by_hand),
        ("not gpuc's", &changes.foreign),
    ];
    for (word, paths) in groups {
        for path in paths {
            text += &format!("{word}: {}\n", folder.join(path).display());
        }
    }
    if text.is_empty() {
        let lock = folder.join(gpuc::lock::LOCK_FILE);
        text += &format!("stale: {}\n", lock.display());
    }
    output::listing(args.input.format, &text)?;
    Ok(Exit::Differs)
}

/// Whether a generated file makes machines of a pool when it is run.
fn makes_machines(path: &str) -> bool {
    path.starts_with("cloud/pool-") && path.ends_with(".sh")
}

fn next(args: &BuildArgs, compilations: &[Compilation]) -> String {
    let out = args.out.display();
    match compilations {
        [one] => {
            let folder = folder(&args.out, one);
            let script = folder.join("cloud/apply.sh");
            format!(
                "next: review {out}, commit it, then try {} --dry-run",
                script.display()
            )
        }
        _ => format!("next: review {out} and commit it"),
    }
}
