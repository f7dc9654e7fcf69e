//! `gpuc build`: writes trees, or compares them with the committed ones.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use gpuc_compile::compile::Compilation;
use gpuc_syntax::source::Sources;
use rayon::prelude::*;

use super::args::{BuildArgs, Cli, FindingsFormat};
use super::drift::Differences;
use super::findings::{self, OtherOutput};
use super::inputs::{self, Run};
use super::write::{self, Changes, OverwriteRefused};
use super::{Exit, orphans, output, summary};

/// Compiles the input, then writes every cluster's tree, or with `--check` lists the differences. If any cluster has an
/// error, no tree is written.
pub(crate) fn run(cli: &Cli, args: &BuildArgs) -> Result<Exit> {
    let start = Instant::now();
    let run = inputs::compile_all(&args.input, Some(&args.out))?;
    let found = findings::findings_of_run(&run);
    let exit = findings::exit_code(&found);
    // The differences are part of the same document.
    let waits = args.check && args.input.format != FindingsFormat::Text && exit == Exit::Success;
    if !waits {
        findings::print_findings(
            cli,
            &args.input,
            &run.sources,
            &found,
            OtherOutput::WithText,
        )?;
    }
    if exit != Exit::Success {
        return Ok(exit);
    }
    let compiled = start.elapsed();
    let written: Vec<_> = run
        .compilations
        .par_iter()
        .map(|compilation| {
            let start = Instant::now();
            let outcome = build_cluster(args, &run, compilation);
            (compilation, outcome, start.elapsed())
        })
        .collect();
    let compile_time = compiled / u32::try_from(written.len().max(1)).unwrap_or(u32::MAX);
    let mut exit = Exit::Success;
    let mut has_changed = false;
    let mut differences = Differences::default();
    let mut sources = run.sources.clone();
    for (compilation, outcome, elapsed) in &written {
        match outcome {
            Ok(changes) => {
                has_changed |= !changes.is_empty();
                let differs = if args.check {
                    list_differences(args, compilation, changes, &mut sources, &mut differences)?
                } else {
                    report_changes(cli, compilation, changes, compile_time + *elapsed)
                };
                exit = exit.max(differs);
            }
            Err(error) => exit = exit.max(report_failure(error)),
        }
    }
    let mut note = |path: &Path, difference: &str, help: &str| {
        differences.record(&mut sources, path, difference, help);
    };
    exit = exit.max(orphans::handle_orphans(cli, args, &run, &mut note)?);
    if waits {
        let all = [&found, differences.diagnostics()].concat();
        findings::print_findings(cli, &args.input, &sources, &all, OtherOutput::WithText)?;
    }
    if exit == Exit::Success && !cli.quiet && !args.check && has_changed {
        output::print_message(&next_steps(args, &run.compilations));
    }
    Ok(exit)
}

/// Reports why the tree of one cluster was not written. The other clusters continue.
pub(super) fn report_failure(error: &anyhow::Error) -> Exit {
    output::print_message(&format!("error: {error:#}"));
    if error.is::<OverwriteRefused>() {
        Exit::OutOfDate
    } else {
        Exit::Failed
    }
}

/// The folder of a cluster.
pub(super) fn cluster_folder(out: &Path, compilation: &Compilation) -> PathBuf {
    out.join(cluster_name(compilation))
}

/// The cluster's name; empty if it could not be read.
fn cluster_name(compilation: &Compilation) -> &str {
    let config = compilation.config.as_ref();
    config.map_or("", |config| config.metadata.name.value.as_str())
}

fn build_cluster(args: &BuildArgs, run: &Run, compilation: &Compilation) -> Result<Changes> {
    let output = compilation.output.as_ref();
    let (tree, lock) =
        output.unwrap_or_else(|| unreachable!("a document without errors has a tree"));
    let folder = cluster_folder(&args.out, compilation);
    let file = run.sources.get(compilation.loaded.source);
    let file = file.map_or("", |file| file.path());
    let mut lock = lock.clone();
    lock.from = orphans::recorded_input(&args.out, &folder, file).or_else(|| {
        // Keep the recorded file if the same cluster is built from standard input or from a copy.
        write::read_lock(&folder).ok().flatten()?.from
    });
    if args.check {
        write::check(&folder, tree, &lock)
    } else {
        if !args.force {
            orphans::refuse_other_cluster(
                &folder,
                cluster_name(compilation),
                lock.from.as_deref(),
            )?;
        }
        write::write(&folder, tree, &lock, args.force)
    }
}

/// One line for each cluster.
fn report_changes(
    cli: &Cli,
    compilation: &Compilation,
    changes: &Changes,
    elapsed: std::time::Duration,
) -> Exit {
    if !cli.quiet {
        output::print_message(&summary::summary_line(compilation, changes, elapsed));
        for script in changes
            .removed
            .iter()
            .filter(|path| is_machine_script(path))
        {
            output::print_message(&format!(
                "note: {script} was removed, but not the cloud resources that it created: they incur costs until \
                 you delete them"
            ));
        }
    }
    Exit::Success
}

/// Lists the files that differ, as data and as findings.
fn list_differences(
    args: &BuildArgs,
    compilation: &Compilation,
    changes: &Changes,
    sources: &mut Sources,
    differences: &mut Differences,
) -> Result<Exit> {
    if changes.is_empty() {
        return Ok(Exit::Success);
    }
    let folder = cluster_folder(&args.out, compilation);
    let mut text = String::new();
    let mut differs = |word: &str, path: &str, reason: &str, help: &str| {
        let path = folder.join(path);
        let reason = if reason.is_empty() {
            String::new()
        } else {
            format!(" ({reason})")
        };
        text += &format!("{word}: {}{reason}\n", path.display());
        differences.record(
            sources,
            &path,
            &format!("this file is {word}{reason}"),
            help,
        );
    };
    let build = "run `gpuc build` and commit the changes";
    let force = "save its contents elsewhere, then run `gpuc build --force`";
    let groups = [
        ("missing", &changes.added, build),
        ("stale", &changes.changed, build),
        ("orphan", &changes.removed, build),
        ("edited by hand", &changes.edited_by_hand, force),
        ("not gpuc's", &changes.foreign, force),
    ];
    for (word, paths, help) in groups {
        for path in paths {
            let reason = if changes.is_only_mode(path) {
                write::ONLY_MODE
            } else {
                ""
            };
            differs(word, path, reason, help);
        }
    }
    if let (true, Some(reason)) = (changes.has_no_files(), changes.lock) {
        differs("stale", gpuc_compile::lock::LOCK_FILE, reason, build);
    }
    output::print_listing(args.input.format, &text)?;
    Ok(Exit::OutOfDate)
}

/// Whether a generated file is a script that creates the machines of a pool.
fn is_machine_script(path: &str) -> bool {
    let script = path.strip_prefix("cloud/pool-");
    script.is_some_and(|name| Path::new(name).extension() == Some("sh".as_ref()))
}

fn next_steps(args: &BuildArgs, compilations: &[Compilation]) -> String {
    let out = args.out.display();
    match compilations {
        [one] => {
            let folder = cluster_folder(&args.out, one);
            // Without resources in a cloud there is no script for them.
            let has_resources =
                (one.plan.as_ref()).is_some_and(|plan| !plan.provisioning.resources.is_empty());
            let script = if has_resources {
                "cloud/apply.sh"
            } else {
                "install.sh"
            };
            let script = folder.join(script);
            format!(
                "next: review and commit {out}, then try {} --dry-run",
                script.display()
            )
        }
        _ => format!("next: review and commit {out}"),
    }
}
