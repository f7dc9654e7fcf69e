//! `gpuc diff`: the impact of a change on running clusters.

use std::path::{Path, PathBuf};

use anyhow::Result;
use gpuc_compile::compile::{Compilation, Options};
use gpuc_compile::lock::LOCK_FILE;
use gpuc_diff::diff::render::{Format, render};
use gpuc_diff::diff::{
    BUILD, Committed, Diff, Diffs, Impact, Pair, Step, TEARDOWN, Unbuilt, VERSION, diff,
};
use gpuc_syntax::diag::{Diagnostic, Levels, Severity};
use gpuc_syntax::shell::quote;
use gpuc_syntax::source::Sources;
use rayon::prelude::*;

use super::args::{Cli, DiffArgs, DiffFormat, FindingsFormat, InputArgs};
use super::base::{Base, BaseRun};
use super::findings::{self, OtherOutput};
use super::inputs::{self, Plans};
use super::match_clusters::{ClusterPair, display_name as name_of, pair_clusters};
use super::{Exit, Usage, build, diff_live, output, write};

/// Compiles both sides and prints the differences.
pub(crate) fn run(cli: &Cli, args: &DiffArgs) -> Result<Exit> {
    if args.running.live {
        return diff_live::run(cli, args);
    }
    let fail_on = args.fail_on.as_deref().map(parse_impact).transpose()?;
    if args.plan && args.format == DiffFormat::Github {
        return Err(Usage(
            "`--plan` cannot be used with `--format github`\n\
             help: use `--format markdown` to print the steps for a comment"
                .to_owned(),
        )
        .into());
    }
    let input = InputArgs {
        paths: input_paths(args),
        deny: Vec::new(),
        format: FindingsFormat::Text,
    };
    if input.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Usage(
            "standard input has no base to compare with\nhelp: name a committed file".to_owned(),
        )
        .into());
    }
    let base = Base::open(
        &args.base,
        input.paths.first().map_or(Path::new("."), PathBuf::as_path),
    )?;
    if let Some(hint) = base.hint() {
        output::print_message(&hint);
    }
    let (mut removed, mut gone_files) = (Vec::new(), Vec::new());
    for path in &input.paths {
        if !path.exists() || (path.is_dir() && !inputs::has_clusters(path)?) {
            gone_files.extend(base.removed_cluster_files(path)?);
            removed.push(path);
        }
    }
    let mut run = inputs::compile_existing(&input, &removed, Some(&args.out), Plans::Kept)?;
    run.files.extend(gone_files);
    let found = findings::findings_of_run(&run);
    if findings::exit_code(&found) != Exit::Success {
        findings::print_findings(cli, &input, &run.sources, &found, OtherOutput::Always)?;
        return Ok(Exit::Invalid);
    }
    let mut sources = run.sources.clone();
    let mut before = base.compile(&run, &args.out, &mut sources)?;
    let unread = only_errors(before.report.diagnostics());
    let unknown: Vec<String> = (before.compilations.iter())
        .filter(|one| one.plan.is_none())
        .map(name_of)
        .collect();
    let of_clusters = before.compilations.iter();
    let of_clusters = of_clusters.flat_map(|one| only_errors(one.report.diagnostics()));
    let of_base: Vec<_> = unread.into_iter().chain(of_clusters).collect();
    if !of_base.is_empty() {
        findings::print_findings(cli, &input, &sources, &of_base, OtherOutput::Always)?;
        output::print_message(&format!(
            "error: the base {} has errors, so these clusters cannot be compared: {}",
            base.name(),
            unknown.join(", ")
        ));
    }
    before.compilations.retain(|one| one.plan.is_some());
    run.compilations
        .retain(|one| !unknown.contains(&name_of(one)));
    if !of_base.is_empty()
        && run.compilations.is_empty()
        && before.compilations.is_empty()
        && before.unchanged.is_empty()
    {
        return Ok(Exit::Invalid);
    }
    let compared = BaseComparison {
        base: &base,
        before: &before,
        out: &args.out,
        sources: &sources,
    };
    let diffs =
        compared.compare_all(&pair_clusters(&base, &sources, &before, &run.compilations))?;
    let format = output_format(args);
    // Formats for programs are complete; with `--quiet`, text contains only the impacts that fail the gate.
    if cli.quiet && args.format == DiffFormat::Text && !args.plan {
        output::print_data(&render(&diffs.clone().at_least(fail_on), format))?;
    } else {
        output::print_data(&render(&diffs, format))?;
    }
    // The impact on clusters that cannot be compared is unknown, so the gate fails.
    let is_unknown = fail_on.is_some() && !of_base.is_empty();
    let is_too_bad = is_unknown
        || diffs
            .worst
            .zip(fail_on)
            .is_some_and(|(worst, limit)| worst <= limit);
    Ok(if is_too_bad {
        Exit::OutOfDate
    } else {
        Exit::Success
    })
}

/// The files of the tree on disk that differ from the current output; none if there is no tree.
pub(super) fn unbuilt_files(out: &Path, after: &Compilation) -> Vec<Unbuilt> {
    let folder = build::cluster_folder(out, after);
    let Some((tree, lock)) = &after.output else {
        return Vec::new();
    };
    // `gpuc build` reports trees that cannot be read.
    let Ok(Some(built)) = write::read_lock(&folder) else {
        return Vec::new();
    };
    // The location of the input is recorded by `gpuc build`.
    let mut lock = lock.clone();
    lock.from = built.from;
    let Ok(changes) = write::check(&folder, tree, &lock) else {
        return Vec::new();
    };
    let by_hand = changes.edited_by_hand.iter().chain(&changes.foreign);
    let stale = changes.added.iter().chain(&changes.changed);
    let stale = stale.chain(&changes.removed);
    let file = |path: &str, by_hand: bool, only: Option<&str>| Unbuilt {
        path: folder.join(path).display().to_string(),
        edited: by_hand,
        difference: only.map(str::to_owned),
    };
    let mode = |path: &str| changes.is_only_mode(path).then_some(write::ONLY_MODE);
    let by_hand = by_hand.map(|path| file(path, true, None));
    let stale = stale.map(|path| file(path, false, mode(path)));
    // If other files differ, the lock differs as a consequence.
    let lock = changes.lock.filter(|_| changes.has_no_files());
    let lock = lock.map(|reason| file(LOCK_FILE, false, Some(reason)));
    by_hand.chain(stale).chain(lock).collect()
}

pub(super) fn output_format(args: &DiffArgs) -> Format {
    match args.format {
        DiffFormat::Text => Format::Text {
            all: args.all,
            plan: args.plan,
        },
        DiffFormat::Json => Format::Json,
        DiffFormat::Markdown if args.plan => Format::Plan,
        DiffFormat::Markdown => Format::Markdown,
        DiffFormat::Github => Format::Github,
    }
}

fn only_errors(findings: &[Diagnostic]) -> Vec<Diagnostic> {
    let errors = findings
        .iter()
        .filter(|found| found.severity == Severity::Error);
    errors.cloned().collect()
}

pub(super) fn input_paths(args: &DiffArgs) -> Vec<PathBuf> {
    if args.paths.is_empty() {
        vec![inputs::default_path()]
    } else {
        args.paths.clone()
    }
}

pub(super) fn parse_impact(name: &str) -> Result<Impact> {
    let names = Impact::ALL.into_iter().map(Impact::as_str);
    Impact::from_name(name).ok_or_else(|| {
        let help = match gpuc_syntax::diag::phrases::closest_match(name, names.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {}", names.collect::<Vec<_>>().join(", ")),
        };
        Usage(format!(
            "unknown impact `{name}` in `--fail-on`\nhelp: {help}"
        ))
        .into()
    })
}

/// The inputs of a comparison.
struct BaseComparison<'a> {
    base: &'a Base,
    before: &'a BaseRun,
    out: &'a Path,
    sources: &'a Sources,
}

impl BaseComparison<'_> {
    /// Compares all clusters of both sides.
    fn compare_all(&self, pairs: &[ClusterPair<'_>]) -> Result<Diffs> {
        let one =
            |(name, before, after): &ClusterPair<'_>| self.compare_cluster(name, *before, *after);
        let compared: Vec<(Diff, bool)> = pairs.par_iter().map(one).collect::<Result<_>>()?;
        let without_tree: Vec<String> = (pairs.iter().zip(&compared))
            .filter(|(_, (_, lacks_tree))| *lacks_tree)
            .map(|((name, before, _), _)| before.map_or_else(|| name.clone(), name_of))
            .collect();
        if !without_tree.is_empty() {
            output::print_message(&format!(
                "note: the base has no tree in {} of {}: without it, gpuc finds only the effects of edits of the \
                 input, and may select other machine types\n\
                 help: if the trees are in another folder, name it with `--out`",
                self.out.display(),
                without_tree.join(", ")
            ));
        }
        let mut clusters: Vec<Diff> = compared.into_iter().map(|(diff, _)| diff).collect();
        clusters.sort_by(Diff::cmp_worst_first);
        Ok(Diffs {
            version: VERSION,
            base: self.base.name(),
            worst: clusters.iter().filter_map(|diff| diff.worst).min(),
            clusters,
        })
    }

    /// Compares one cluster, and returns whether the base lacks a tree of it.
    fn compare_cluster(
        &self,
        name: &str,
        before: Option<&Compilation>,
        after: Option<&Compilation>,
    ) -> Result<(Diff, bool)> {
        let folder = match before.or(after) {
            Some(one) => build::cluster_folder(self.out, one),
            None => self.out.join(name),
        };
        let mut committed = self.base.committed(&folder)?;
        let lacks_tree = committed.is_none() && before.is_some();
        let choices = |name: &str| self.base.choices(self.out, name);
        let options = Options {
            registry: &gpuc::REGISTRY,
            levels: Levels::default(),
            today: super::clock::today().ok(),
            choices: &choices,
        };
        let is_stale = |tree: &Committed, before: &Compilation| {
            let output = before.output.as_ref();
            output.is_some_and(|(_, lock)| lock.input != tree.lock.input)
        };
        if let (Some(tree), Some(before)) = (&mut committed, before)
            && is_stale(tree, before)
            && let Some(source) = self.sources.get(before.loaded.source)
        {
            // Unchanged clusters have the path of the current run.
            let file = self.base.path_from_display(source.path());
            let file = file.unwrap_or(source.path());
            tree.built_from = self.base.built_from(file, &tree.lock.input, &choices);
        }
        let lock = folder.join(LOCK_FILE).display().to_string();
        let pair = Pair {
            before,
            after,
            committed: committed.as_ref(),
            lock: committed.as_ref().map(|_| lock.as_str()),
        };
        let found = diff(pair, &options, self.sources);
        let mut found = found.unwrap_or_else(|| unreachable!("both sides have no error"));
        found.unbuilt = after
            .map(|after| unbuilt_files(self.out, after))
            .unwrap_or_default();
        if committed
            .as_ref()
            .is_some_and(|tree| tree.lock.from.is_some())
        {
            found.moved_from = self.moved_from(name, before, after);
        }
        if let Some(source) = after.and_then(|after| self.sources.get(after.loaded.source)) {
            let commands = found.rollout.iter_mut().flat_map(|step| &mut step.commands);
            for command in commands {
                if let Some(rest) = command.strip_prefix(BUILD) {
                    *command = self.build_command(source.path(), rest);
                }
            }
        }
        let removes = |step: &&mut Step| step.commands.iter().any(|it| it.starts_with(TEARDOWN));
        for step in found.rollout.iter_mut().filter(removes) {
            if after.is_some() {
                // The other steps run in the tree of the new cluster.
                let tree = quote(&folder.display().to_string());
                for command in &mut step.commands {
                    *command = format!("{tree}/{command}");
                }
                step.instruction += " with the scripts from its tree";
                if committed.is_some() {
                    step.instruction += &format!(" at {}", self.base.name());
                }
            } else if committed.is_some() {
                // The scripts of a deleted cluster exist only in the base.
                step.commands = self.base.worktree_commands(&folder, &step.commands)?;
            } else {
                continue;
            }
            step.instruction += ". Run these commands in the current folder";
        }
        found.folder = match after.or(before) {
            Some(one) => build::cluster_folder(self.out, one).display().to_string(),
            None => folder.display().to_string(),
        };
        Ok((found, lacks_tree))
    }

    /// The cluster's previous file, if the cluster moved to another file.
    fn moved_from(
        &self,
        name: &str,
        before: Option<&Compilation>,
        after: Option<&Compilation>,
    ) -> Option<String> {
        let path = |one: &Compilation| Some(self.sources.get(one.loaded.source)?.path());
        let is_called = after.and_then(path)?;
        // An unchanged cluster was compiled only once, from its current file.
        let was_called = match self.before.unchanged.get(name) {
            Some(file) => file,
            None => before.and_then(path)?,
        };
        let was = self.base.path_from_display(was_called)?;
        (was != is_called && before.map(name_of) == after.map(name_of)).then(|| was.to_owned())
    }

    /// The command that builds into the output folder of this run. `arguments` are the options, or the files if a step
    /// builds other files than that of the cluster.
    fn build_command(&self, path: &str, arguments: &str) -> String {
        let (files, options) = if arguments.is_empty() || arguments.starts_with(" --") {
            let is_default = Path::new(path) == inputs::default_path();
            let file = (!is_default).then(|| format!(" {}", quote(path)));
            (file.unwrap_or_default(), arguments)
        } else {
            (arguments.to_owned(), "")
        };
        let mut command = format!("{BUILD}{files}");
        if self.out != Path::new("clusters") {
            command += &format!(" --out {}", quote(&self.out.display().to_string()));
        }
        command + options
    }
}
