//! `gpuc why`: traces a part of a generated tree back to the input.

use std::fs;
use std::path::Path;

use anyhow::Result;
use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_diff::why::render::{self, Told};
use gpuc_diff::why::{self, Answer, Asked, Index, Question, Trial, Unknown};
use gpuc_syntax::diag::Levels;
use gpuc_syntax::source::Span;
use rayon::prelude::*;

use super::args::{Cli, FindingsFormat, InputArgs, WhyArgs, WhyFormat};
use super::findings::{self, Accompany};
use super::inputs::{self, Run};
use super::{Exit, orphans, output, write};

/// Answers one query.
pub(crate) fn run(cli: &Cli, args: &WhyArgs) -> Result<Exit> {
    let is_file = |name: &str| Path::new(name).is_file();
    let question = match Question::read(&args.what, &is_file) {
        Ok(question) => question,
        Err(unknown) => return Ok(refuse(&unknown)),
    };
    let input = InputArgs {
        paths: args.paths.clone(),
        deny: Vec::new(),
        format: FindingsFormat::Text,
    };
    let mut run = inputs::compile_all(&input, Some(&args.out))?;
    let exit = findings::print(cli, &input, &run, Accompany::Always)?;
    if exit != Exit::Fine {
        return Ok(exit);
    }
    let choices = |name: &str| inputs::choices(&args.out, name);
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        choices: &choices,
    };
    let compilations = planned(&mut run, &question, &options);
    let indexes: Vec<_> = compilations
        .iter()
        .filter_map(|one| Some(Index::new(one)?.with_lock(lock(args, &run, one)?)))
        .collect();
    let out = inputs::shown(&args.out)?;
    let asked = match why::find(&question, &indexes, &out) {
        Ok(asked) => asked,
        Err(_)
            if !why::is_built(&question, &indexes, &out) && is_below(&question.what, &args.out) =>
        {
            return Ok(refuse(&Unknown {
                message: format!("`{}` is not part of the current output", question.what),
                help: Some("run `gpuc build` to update the tree".to_owned()),
            }));
        }
        Err(unknown) => return Ok(refuse(&unknown)),
    };
    note_if_stale(&question, &asked);
    let index = &indexes[asked.index];
    let compilation = compilations.iter().find(|one| {
        one.plan
            .as_ref()
            .is_some_and(|plan| plan.cluster == index.cluster())
    });
    let compilation = compilation.unwrap_or_else(|| unreachable!("the index is of one of them"));
    let told = answer(&run, compilation, index, &asked, &options);
    output::data(&match args.format {
        WhyFormat::Text => render::text(&told),
        WhyFormat::Json => serde_json::to_string_pretty(&told)? + "\n",
        WhyFormat::Markdown => render::markdown(&told),
    })?;
    Ok(Exit::Fine)
}

/// The compilations that can contain the answer, with their plans. A run over all clusters drops the plans.
fn planned(run: &mut Run, question: &Question, options: &Options<'_>) -> Vec<Compilation> {
    let mut loaded: Vec<_> = std::mem::take(&mut run.compilations)
        .into_iter()
        .filter_map(|one| Some((one.config.as_ref()?.metadata.name.value.clone(), one.loaded)))
        .collect();
    let is_named = |name: &str| question.what.split('/').any(|part| part == name);
    if loaded.iter().any(|(name, _)| is_named(name)) {
        loaded.retain(|(name, _)| is_named(name));
    }
    let all = loaded.into_par_iter();
    all.map(|(_, loaded)| compile(loaded, options)).collect()
}

/// The lock as `gpuc build` would write it.
fn lock(args: &WhyArgs, run: &Run, compilation: &Compilation) -> Option<String> {
    let (_, lock) = compilation.output.as_ref()?;
    let folder = super::build::folder(&args.out, compilation);
    let file = run.sources.get(compilation.loaded.source)?.path();
    let mut lock = lock.clone();
    lock.from = orphans::remembered(&args.out, &folder, file)
        .or_else(|| write::read_lock(&folder).ok().flatten()?.from);
    Some(lock.to_json())
}

/// Whether a file is in the output folder.
fn is_below(file: &str, out: &Path) -> bool {
    let [file, out] = [Path::new(file), out].map(fs::canonicalize);
    file.is_ok_and(|file| file.is_file() && out.is_ok_and(|out| file.starts_with(out)))
}

fn refuse(unknown: &Unknown) -> Exit {
    let help = unknown.help.as_ref();
    let help = help
        .map(|help| format!("\nhelp: {}", render::visible(help)))
        .unwrap_or_default();
    let message = render::visible(&unknown.message);
    output::say(&format!("error: {message}{help}"));
    Exit::Invalid
}

/// Prints a note if the file on disk differs from the current output.
fn note_if_stale(question: &Question, asked: &Asked) {
    let committed = fs::read_to_string(Path::new(&question.what));
    if committed.is_ok_and(|text| text != asked.page.text()) {
        output::say(&format!(
            "note: {} is stale, and the answer describes the current output; run `gpuc build` to update the file",
            question.what
        ));
    }
}

/// Runs experiments with changed input values, and explains the results.
fn answer(
    run: &Run,
    compilation: &Compilation,
    index: &Index<'_>,
    asked: &Asked,
    options: &Options<'_>,
) -> Told {
    let early = likely(&why::answer(index, asked, &[]));
    let leaves = why::leaves(index.input(), &early);
    let all = leaves.all.len();
    let waiting = output::Waiting::new("trying values of the input");
    let tick = || waiting.tick();
    let (leaves, untried) = why::suspects(compilation, leaves, asked, options, &tick);
    let trials: Vec<Trial> = leaves
        .par_iter()
        .flat_map_iter(|leaf| {
            waiting.tick();
            why::try_one(compilation, leaf, options)
        })
        .collect();
    drop(waiting);
    let answer = why::answer(index, asked, &trials);
    render::tell(&answer, index, &run.sources, (all - untried, untried))
}

/// The locations in the input that are known to be relevant.
fn likely(answer: &Answer) -> Vec<Span> {
    let rows = answer.rows.iter().flat_map(|row| &row.reasons);
    let reasons = answer.reasons.iter().chain(rows);
    let spans = reasons.flat_map(|reason| reason.inputs.iter().copied());
    spans.collect()
}
