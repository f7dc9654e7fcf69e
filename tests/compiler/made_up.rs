//! A mistake is said once, where it is: a value that cannot be read makes no other value wrong.

use std::collections::BTreeSet;

use gpuc::diag::{Diagnostic, Severity};
use gpuc::node::{Node, Value};
use gpuc::source::Span;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::golden::examples;
use crate::support::{Outcome, compile_text, files_below, repository};

/// What nearly no key takes.
const WRONG: &[&str] = &[
    "true",
    "1.5",
    "wrong!",
    "99999999999999999999",
    "[]",
    "{a: b}",
    "-7",
];

/// Files that compile: examples that stand alone, the clusters with every setting, and what pages show as right.
fn texts() -> Vec<String> {
    let examples = examples().into_values();
    let alone = examples.filter_map(|paths| match paths.as_slice() {
        [only] => Some(std::fs::read_to_string(repository().join(only)).unwrap()),
        _ => None,
    });
    let rich = files_below(&repository().join("tests/compiler/rich"));
    let good = gpuc::codes().into_iter();
    let good = good.map(|code| gpuc::diag::example(code.good).0.to_owned());
    alone.chain(rich.into_values()).chain(good).collect()
}

/// Where the leaves of a document stand.
fn leaves(node: &Node, found: &mut Vec<Span>) {
    if matches!(node.value, Value::Scalar(_)) && node.span().is_written() {
        found.push(node.span());
    }
    for entry in node.entries() {
        leaves(&entry.value, found);
    }
    for item in node.items() {
        leaves(item, found);
    }
}

fn is_inside(span: Span, changed: Span) -> bool {
    span.source == changed.source && changed.start <= span.start && span.end <= changed.end
}

/// The findings that neither stand at a place nor point there, where something is wrong with that place.
fn elsewhere(outcome: &Outcome, changed: Span, before: &BTreeSet<String>) -> Vec<String> {
    let findings = outcome.findings.iter();
    let at = |found: &Diagnostic| is_inside(found.primary.span, changed);
    let points = |found: &Diagnostic| found.labels.iter().any(|it| is_inside(it.span, changed));
    let is_wrong = |found: &Diagnostic| found.severity == Severity::Error && at(found);
    if !outcome.findings.iter().any(is_wrong) {
        return Vec::new();
    }
    let others = findings.filter(|it| !at(it) && !points(it) && !before.contains(&it.message));
    others
        .map(|it| format!("{} {}", it.code.id, it.message))
        .collect()
}

/// A file that compiles, with what is said of it, and where its leaves stand.
struct File {
    text: String,
    said: BTreeSet<String>,
    leaves: Vec<Span>,
}

impl File {
    fn new(text: String) -> Option<Self> {
        let outcome = compile_text(&text);
        let said = outcome.findings.iter().map(|it| it.message.clone());
        let said = said.collect();
        let mut spans = Vec::new();
        leaves(&outcome.compilations.first()?.loaded.root, &mut spans);
        Some(Self {
            text,
            said,
            leaves: spans,
        })
    }

    /// What is found elsewhere once something else stands in the place of a leaf.
    fn elsewhere(&self, leaf: usize, wrong: &str) -> Vec<String> {
        let span = self.leaves[leaf];
        let mut changed = self.text.clone();
        changed.replace_range(span.start as usize..span.end as usize, wrong);
        let end = span.start + u32::try_from(wrong.len()).unwrap();
        elsewhere(&compile_text(&changed), Span { end, ..span }, &self.said)
    }

    fn line(&self, leaf: usize) -> &str {
        let lines = self.text[..self.leaves[leaf].start as usize].lines().count();
        self.text.lines().nth(lines - 1).unwrap_or_default().trim()
    }
}

#[test]
#[ignore = "all"]
fn all() {
    let mut seen: std::collections::BTreeMap<String, (usize, String)> = Default::default();
    let step: usize = std::env::var("STEP").map_or(1, |it| it.parse().unwrap());
    let mut number = 0;
    for text in texts() {
        let Some(file) = File::new(text) else { continue };
        for leaf in 0..file.leaves.len() {
            number += 1;
            if number % step != 0 { continue }
            let wrong = WRONG[(number / step) % WRONG.len()];
            for it in file.elsewhere(leaf, wrong) {
                let key = it[..8].to_owned();
                let entry = seen.entry(key).or_insert((0, format!("{it} <= {} <= {wrong}", file.line(leaf))));
                entry.0 += 1;
            }
        }
    }
    println!("{number} {seen:#?}");
}
