//! `gpuc diff`: the reported impacts are correct and complete, and each change is attributed to the right edit.

mod base;
mod build_steps;
mod comment;
mod device_classes;
mod diff_command;
mod edit_table;
mod existing_nodes;
mod gpus;
mod hostile_repositories;
mod hosts;
mod impacts;
mod many_edits;
mod namespaces;
mod node_provisioners;
mod persistent_data;
mod plan;
mod properties;
mod push_restarts;
mod queues;
mod renamed_clusters;
mod renamed_workloads;
mod replacement;
mod reports;
mod running_clusters;
mod scale_down;
mod step_order;
mod submodules;
mod taints;
mod upgrades;

use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_diff::diff::{Diff, Diffs, Pair, VERSION, diff};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Diagnostic, Levels, Report};
use gpuc_syntax::load::{self, Loaded, MemoryFiles};
use gpuc_syntax::source::Sources;

/// Two versions of one cluster.
pub(crate) struct ClusterVersions {
    sources: Sources,
    before: Compilation,
    after: Compilation,
}

const BEFORE: &str = "base/gpu-cluster.yaml";
const AFTER: &str = "gpu-cluster.yaml";

/// Compiles both versions. Returns the findings if a version has errors.
pub(crate) fn compile_versions(before: &str, after: &str) -> Result<ClusterVersions, String> {
    let files: MemoryFiles = [(BEFORE, before), (AFTER, after)].into_iter().collect();
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&files, &[BEFORE, AFTER], &mut sources, &mut report);
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
    Ok(ClusterVersions {
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
        today: None,
        choices: &|_| Choices::default(),
    }
}

/// The differences between two texts.
pub(crate) fn diff_of_texts(before: &str, after: &str) -> Diff {
    diff_of_versions(
        &compile_versions(before, after).unwrap_or_else(|findings| panic!("{findings}")),
    )
}

/// The differences if the cluster may be missing on one side.
pub(crate) fn diff_of_optional(before: Option<&str>, after: Option<&str>) -> Diff {
    let text = before.or(after).unwrap();
    let sides = compile_versions(before.unwrap_or(text), after.unwrap_or(text));
    let sides = sides.unwrap_or_else(|findings| panic!("{findings}"));
    let pair = Pair {
        before: before.map(|_| &sides.before),
        after: after.map(|_| &sides.after),
        committed: None,
        lock: None,
    };
    diff(pair, &options(), &sides.sources).unwrap()
}

/// The differences between two versions.
fn diff_of_versions(sides: &ClusterVersions) -> Diff {
    let pair = Pair {
        before: Some(&sides.before),
        after: Some(&sides.after),
        committed: None,
        lock: None,
    };
    let options = options();
    diff(pair, &options, &sides.sources).unwrap()
}

/// One cluster's differences as the result of a run.
pub(crate) fn as_diffs(diff: Diff) -> Diffs {
    Diffs {
        version: VERSION,
        base: "HEAD".to_owned(),
        worst: diff.worst,
        clusters: vec![diff],
    }
}
