//! `gpuc why`: traces a part of a generated tree back to the input.

use std::fs;
use std::path::Path;

use anyhow::Result;
use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_diff::why::render::{self, ExplanationReport};
use gpuc_diff::why::{self, Experiment, Explanation, Index, Query, QueryError, ResolvedQuery};
use gpuc_syntax::diag::Levels;
use gpuc_syntax::source::Span;
use rayon::prelude::*;

use super::args::{Cli, FindingsFormat, InputArgs, WhyArgs, WhyFormat};
use super::findings::{self, OtherOutput};
use super::inputs::{self, Run};
use super::{Exit, orphans, output, write};

/// Answers one query.
pub(crate) fn run(cli: &Cli, args: &WhyArgs) -> Result<Exit> {
    let is_file = |name: &str| Path::new(name).is_file();
    let question = match Query::parse(&args.what, &is_file) {
        Ok(question) => question,
        Err(unknown) => return Ok(report_query_error(&unknown)),
    };
    let input = InputArgs {
        paths: args.paths.clone(),
        deny: Vec::new(),
        format: FindingsFormat::Text,
    };
    let mut run = inputs::compile_all(&input, Some(&args.out))?;
    let exit = findings::print(cli, &input, &run, OtherOutput::Always)?;
    if exit != Exit::Success {
        return Ok(exit);
    }
    let choices = |name: &str| inputs::earlier_choices(&args.out, name);
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let compilations = compilations_with_plans(&mut run, &question, &options);
    let indexes: Vec<_> = compilations
        .iter()
        .filter_map(|one| Some(Index::new(one)?.with_lock(lock_text(args, &run, one)?)))
        .collect();
    let out = inputs::display_path(&args.out)?;
    let resolved = match why::resolve(&question, &indexes, &out) {
        Ok(resolved) => resolved,
        Err(_)
            if !why::is_built(&question, &indexes, &out)
                && is_below(&question.subject, &args.out) =>
        {
            return Ok(report_query_error(&QueryError {
                message: format!("`{}` is not part of the current output", question.subject),
                help: Some("run `gpuc build` to update the tree".to_owned()),
            }));
        }
        Err(unknown) => return Ok(report_query_error(&unknown)),
    };
    note_if_stale(&question, &resolved);
    let index = &indexes[resolved.index];
    let compilation = compilations.iter().find(|one| {
        one.plan
            .as_ref()
            .is_some_and(|plan| plan.cluster == index.cluster())
    });
    let compilation = compilation.unwrap_or_else(|| unreachable!("the index is of one of them"));
    let explanation = explain_query(&run, compilation, index, &resolved, &options);
    output::print_data(&match args.format {
        WhyFormat::Text => render::text(&explanation),
        WhyFormat::Json => serde_json::to_string_pretty(&explanation)? + "\n",
        WhyFormat::Markdown => render::markdown(&explanation),
    })?;
    Ok(Exit::Success)
}

/// The compilations that can contain the answer, with their plans. A run over all clusters drops the plans.
fn compilations_with_plans(
    run: &mut Run,
    question: &Query,
    options: &Options<'_>,
) -> Vec<Compilation> {
    let mut loaded: Vec<_> = std::mem::take(&mut run.compilations)
        .into_iter()
        .filter_map(|one| Some((one.config.as_ref()?.metadata.name.value.clone(), one.loaded)))
        .collect();
    let is_named = |name: &str| question.subject.split('/').any(|part| part == name);
    if loaded.iter().any(|(name, _)| is_named(name)) {
        loaded.retain(|(name, _)| is_named(name));
    }
    let all = loaded.into_par_iter();
    all.map(|(_, loaded)| compile(loaded, options)).collect()
}

/// The lock as `gpuc build` would write it.
fn lock_text(args: &WhyArgs, run: &Run, compilation: &Compilation) -> Option<String> {
    let (_, lock) = compilation.output.as_ref()?;
    let folder = super::build::cluster_folder(&args.out, compilation);
    let file = run.sources.get(compilation.loaded.source)?.path();
    let mut lock = lock.clone();
    lock.from = orphans::recorded_input(&args.out, &folder, file)
        .or_else(|| write::read_lock(&folder).ok().flatten()?.from);
    Some(lock.to_json())
}

/// Whether a file is in the output folder.
fn is_below(file: &str, out: &Path) -> bool {
    let [file, out] = [Path::new(file), out].map(fs::canonicalize);
    file.is_ok_and(|file| file.is_file() && out.is_ok_and(|out| file.starts_with(out)))
}

fn report_query_error(unknown: &QueryError) -> Exit {
    let help = unknown.help.as_ref();
    let help = help
        .map(|help| format!("\nhelp: {}", render::strip_control_characters(help)))
        .unwrap_or_default();
    let message = render::strip_control_characters(&unknown.message);
    output::print_message(&format!("error: {message}{help}"));
    Exit::Invalid
}

/// Prints a note if the file on disk differs from the current output.
fn note_if_stale(question: &Query, resolved: &ResolvedQuery) {
    let committed = write::read_regular(Path::new(&question.subject));
    if committed.is_ok_and(|bytes| bytes != resolved.document.text().as_bytes()) {
        output::print_message(&format!(
            "note: {} is stale, and the answer describes the current output; run `gpuc build` to update the file",
            question.subject
        ));
    }
}

/// Runs experiments with changed input values, and explains the results.
fn explain_query(
    run: &Run,
    compilation: &Compilation,
    index: &Index<'_>,
    resolved: &ResolvedQuery,
    options: &Options<'_>,
) -> ExplanationReport {
    let early = likely_spans(&why::explain(index, resolved, &[]));
    let leaves = why::input_leaves(index.input(), &early);
    let all = leaves.all.len();
    let waiting = output::ProgressLine::new("trying values of the input");
    let tick = || waiting.tick();
    let (leaves, untried) = why::find_suspects(compilation, leaves, resolved, options, &tick);
    let trials: Vec<Experiment> = leaves
        .par_iter()
        .flat_map_iter(|leaf| {
            waiting.tick();
            why::run_experiments(compilation, leaf, options)
        })
        .collect();
    drop(waiting);
    let explanation = why::explain(index, resolved, &trials);
    render::resolve(&explanation, index, &run.sources, (all - untried, untried))
}

/// The locations in the input that are known to be relevant.
fn likely_spans(explanation: &Explanation) -> Vec<Span> {
    let rows = explanation.parts.iter().flat_map(|row| &row.reasons);
    let reasons = explanation.reasons.iter().chain(rows);
    let spans = reasons.flat_map(|reason| reason.inputs.iter().copied());
    spans.collect()
}
