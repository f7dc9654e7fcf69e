//! `gpuc diff`: the reported impacts are correct and complete, and each change is attributed to the right edit.

mod base;
mod beside;
mod built;
mod command;
mod comment;
mod data;
mod fewer;
mod forced;
mod gpus;
mod hosts;
mod impacts;
mod makers;
mod many;
mod order;
mod plan;
mod properties;
mod queues;
mod renamed;
mod room;
mod spaces;
mod submodules;
mod table;
mod tainted;
mod twice;
mod upgrades;
mod words;

use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_diff::diff::{Diff, Diffs, Pair, VERSION, diff};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Diagnostic, Levels, Report};
use gpuc_syntax::load::{self, Files, Loaded};
use gpuc_syntax::source::Sources;

/// Two states of one cluster.
pub(crate) struct Sides {
    sources: Sources,
    before: Compilation,
    after: Compilation,
}

const BEFORE: &str = "base/gpu-cluster.yaml";
const AFTER: &str = "gpu-cluster.yaml";

/// Compiles both; returns the findings if one has errors.
pub(crate) fn sides(before: &str, after: &str) -> Result<Sides, String> {
    let world: Files = [(BEFORE, before), (AFTER, after)].into_iter().collect();
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&world, &[BEFORE, AFTER], &mut sources, &mut report);
    if report.has_errors() {
        return Err(render(&sources, report.diagnostics()));
    }
    let [before, after]: [Loaded; 2] = loaded
        .try_into()
        .map_err(|_| "not two documents".to_owned())?;
    let one = |loaded: Loaded| {
        let compilation = compile(loaded, &options());
        match compilation.plan {
            Some(_) => Ok(compilation),
            None => Err(text(&sources, &compilation)),
        }
    };
    let (before, after) = (one(before)?, one(after)?);
    Ok(Sides {
        sources,
        before,
        after,
    })
}

fn text(sources: &Sources, compilation: &Compilation) -> String {
    render(sources, compilation.report.diagnostics())
}

fn render(sources: &Sources, findings: &[Diagnostic]) -> String {
    use gpuc_syntax::diag::render::{Format, Options, render};
    render(Format::Text, sources, findings, Options::default())
}

fn options() -> Options<'static> {
    Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        choices: &|_| Choices::default(),
    }
}

/// The differences between two texts.
pub(crate) fn of_texts(before: &str, after: &str) -> Diff {
    of_sides(&sides(before, after).unwrap_or_else(|findings| panic!("{findings}")))
}

/// The differences if one of the sides may not exist.
pub(crate) fn diff_of(before: Option<&str>, after: Option<&str>) -> Diff {
    let text = before.or(after).unwrap();
    let sides = sides(before.unwrap_or(text), after.unwrap_or(text));
    let sides = sides.unwrap_or_else(|findings| panic!("{findings}"));
    let pair = Pair {
        before: before.map(|_| &sides.before),
        after: after.map(|_| &sides.after),
        committed: None,
        lock: None,
    };
    diff(pair, &options(), &sides.sources).unwrap()
}

/// The differences between two states.
fn of_sides(sides: &Sides) -> Diff {
    let pair = Pair {
        before: Some(&sides.before),
        after: Some(&sides.after),
        committed: None,
        lock: None,
    };
    let options = options();
    diff(pair, &options, &sides.sources).unwrap()
}

/// One cluster's differences, as those of a run.
pub(crate) fn run(diff: Diff) -> Diffs {
    Diffs {
        version: VERSION,
        base: "HEAD".to_owned(),
        worst: diff.worst,
        clusters: vec![diff],
    }
}
