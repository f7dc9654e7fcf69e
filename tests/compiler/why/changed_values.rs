//! Every output that changes with a line of the input names that line.
//!
//! The edits in this test change the text, unlike the experiments of `why`, and other parsers detect the changes. An
//! explanation that names the line is therefore correct, not only consistent.

use std::collections::BTreeMap;

use gpuc_compile::compile::{Compilation, Options};
use gpuc_diff::why::{
    Experiment, Index, Path, QueryTarget, Step, causes, input_leaves, run_experiments,
};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::Levels;
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;
use rayon::prelude::*;
use serde_yaml::Value as Yaml;

use crate::support::{Outcome, compile_text, repository};

/// The examples. Together they cover every cloud, teams and Argo CD.
const EXAMPLES: &[&str] = &["aks-argocd", "eks-teams", "gke-inference-l4", "on-prem-mig"];

/// Replacements for values that a cloud or a schema validates.
const WORDS: &[(&str, &str)] = &[
    ("m7i.xlarge", "m7i.4xlarge"),
    ("p5.48xlarge", "p5e.48xlarge"),
    ("p4d.24xlarge", "p4de.24xlarge"),
    ("g6.4xlarge", "g6.16xlarge"),
    ("g6e.xlarge", "g6e.4xlarge"),
    ("us-east-1a", "us-east-1d"),
    ("NoSchedule", "NoExecute"),
    ("AmazonLinux2023", "Bottlerocket"),
    ("Ubuntu2404", "Ubuntu2204"),
    ("clusterAutoscaler", "none"),
    ("1.34", "1.33"),
    ("3g.20gb", "2g.10gb"),
    ("gpuc", "nvidia"),
    ("dcgm", "gpuc"),
    ("true", "false"),
    ("false", "true"),
];

#[test]
fn changed_values_name_the_changed_line() {
    let mut missing = Vec::new();
    let mut count = 0;
    for name in EXAMPLES {
        let path = format!("examples/{name}/gpu-cluster.yaml");
        let text = std::fs::read_to_string(repository().join(path)).unwrap();
        let before = compile_text(&text);
        let compilation = &before.compilations[0];
        let experiments = experiments(compilation);
        let edits = edits(&compilation.loaded.root, &text);
        let index = Index::new(compilation).unwrap();
        let answers = answers(&index, &experiments);
        let found: Vec<_> = edits
            .par_iter()
            .filter_map(|(span, edited)| {
                // The first variant that compiles.
                let mut after = edited.iter().filter_map(|text| files(&compile_text(text)));
                Some(parts_without_location(
                    &index,
                    &answers,
                    *span,
                    &after.next()?,
                ))
            })
            .collect();
        let tried: usize = found.iter().map(|(moved, _)| moved).sum();
        assert!(tried > 50, "{name}: only {tried} parts changed");
        count += tried;
        let found = found.into_iter().flat_map(|(_, missing)| missing);
        missing.extend(found.map(|missing| format!("{name}: {missing}")));
    }
    assert!(
        missing.is_empty(),
        "{} of {count} explanations lack the changed line:\n{}",
        missing.len(),
        missing.join("\n")
    );
}

fn experiments(compilation: &Compilation) -> Vec<Experiment> {
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    input_leaves(&compilation.loaded.root, &[])
        .all
        .par_iter()
        .flat_map_iter(|leaf| run_experiments(compilation, leaf, &options))
        .collect()
}

/// Each leaf of the document, with variants of the text in which it has other values.
fn edits(root: &Node, text: &str) -> Vec<(Span, Vec<String>)> {
    let mut edits = Vec::new();
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        match &node.value {
            Value::Sequence(items) => waiting.extend(items),
            Value::Mapping(entries) => waiting.extend(entries.iter().map(|entry| &entry.value)),
            Value::Scalar(_) => {
                let span = node.span();
                let (start, end) = (span.start as usize, span.end as usize);
                let old = text[start..end].trim_matches('"').to_owned();
                let quote = if text[start..].starts_with('"') {
                    "\""
                } else {
                    ""
                };
                let edited = other_values(&old).into_iter().map(|new| {
                    let mut edited = text.to_owned();
                    edited.replace_range(start..end, &format!("{quote}{new}{quote}"));
                    edited
                });
                edits.push((span, edited.collect()));
            }
        }
    }
    edits
}

fn other_values(old: &str) -> Vec<String> {
    if let Ok(number) = old.parse::<u64>()
        && old.len() < 8
    {
        return vec![(number + 2).to_string(), (number + 8).to_string()];
    }
    let known = WORDS.iter().filter(|(word, _)| *word == old);
    let mut others: Vec<_> = known.map(|(_, other)| (*other).to_owned()).collect();
    if others.is_empty() {
        others.push(format!("q{old}"));
        others.push(format!("{old}-q"));
        others.push(old.replacen("0.1.0", "0.7.0", 1));
        others.push(old.replacen('3', "4", 1));
    }
    others.retain(|other| other != old);
    others
}

fn files(outcome: &Outcome) -> Option<BTreeMap<String, String>> {
    let (tree, _) = outcome.compilations.first()?.output.as_ref()?;
    let files = tree.files();
    Some(
        files
            .map(|(path, file)| (path.to_owned(), file.contents.clone()))
            .collect(),
    )
}

/// A file, its parts, and the locations in the explanation of each.
struct Answers {
    file: String,
    text: String,
    parts: Vec<(QueryTarget, Vec<Span>)>,
}

/// The explanations of every part of every file, computed once.
fn answers(index: &Index<'_>, experiments: &[Experiment]) -> Vec<Answers> {
    let files: Vec<_> = index.files().map(str::to_owned).collect();
    let one = |file: String| {
        let page = index.document(&file).unwrap();
        let (parts, reasons): (Vec<QueryTarget>, Vec<_>) =
            index.parts(&file, &page).into_iter().unzip();
        let found = causes(experiments, &file, &page, &parts);
        let spans = found.into_iter().zip(reasons).map(|(causes, reasons)| {
            let causes = causes.iter().map(|cause| cause.leaf.span);
            let reasons = reasons.iter().flat_map(|reason| reason.inputs.clone());
            causes.chain(reasons).collect()
        });
        let parts = parts.clone().into_iter().zip(spans).collect();
        Answers {
            text: page.text().to_owned(),
            parts,
            file,
        }
    };
    files.into_par_iter().map(one).collect()
}

/// The number of changed parts, and those whose explanations do not name the location.
fn parts_without_location(
    index: &Index<'_>,
    answers: &[Answers],
    span: Span,
    after: &BTreeMap<String, String>,
) -> (usize, Vec<String>) {
    let mut count = 0;
    let mut missing = Vec::new();
    for Answers { file, text, parts } in answers {
        let Some(now) = after.get(file).filter(|now| *now != text) else {
            continue;
        };
        for (at, places) in changed_parts(text, now, parts) {
            count += 1;
            let mut places = places.iter();
            if !places.any(|place| place.start <= span.start && span.end <= place.end) {
                missing.push(format!("{file} {}", format_location(at)));
            }
        }
    }
    let what = index.paths_by_span().get(&span).map(ToString::to_string);
    let what = what.unwrap_or_default();
    let all = missing.first().map(|first| {
        let count = missing.len();
        format!("{what}: {count} parts, such as {first}")
    });
    (count, all.into_iter().collect())
}

fn format_location(at: &QueryTarget) -> String {
    match at {
        QueryTarget::Field(path) => path.to_string(),
        QueryTarget::Line(line) => format!("line {line}"),
        QueryTarget::File => "all".to_owned(),
    }
}

/// The parts that changed, according to other parsers.
fn changed_parts<'a>(
    before: &str,
    now: &str,
    parts: &'a [(QueryTarget, Vec<Span>)],
) -> Vec<&'a (QueryTarget, Vec<Span>)> {
    let documents = [before, now].map(|text| serde_yaml::from_str::<Yaml>(text).ok());
    let lines = changed_lines(before, now);
    let is_moved = |(at, _): &&(QueryTarget, Vec<Span>)| match (at, &documents) {
        (QueryTarget::Field(path), [Some(old), Some(new)]) => is_different(old, new, path),
        (QueryTarget::Line(line), _) => lines.contains(line),
        _ => false,
    };
    parts.iter().filter(is_moved).collect()
}

fn is_different(old: &Yaml, new: &Yaml, path: &Path) -> bool {
    let (mut old, mut new) = (old, new);
    for step in &path.0 {
        let next = match step {
            Step::Key(key) => old.get(key.as_str()).zip(new.get(key.as_str())),
            Step::Index(place) => {
                let item = &old[*place];
                let items = new.as_sequence();
                if items.is_some_and(|items| items.contains(item)) {
                    return false;
                }
                new.get(*place).map(|new| (item, new))
            }
        };
        match next {
            Some(next) => (old, new) = next,
            None => return true,
        }
    }
    old != new
}

/// The numbers of the lines that changed.
fn changed_lines(before: &str, now: &str) -> Vec<usize> {
    let diff = similar::TextDiff::from_lines(before, now);
    let changes = diff.iter_all_changes();
    let deleted = changes.filter(|change| change.tag() == similar::ChangeTag::Delete);
    deleted
        .filter_map(|change| change.old_index())
        .map(|at| at + 1)
        .collect()
}
