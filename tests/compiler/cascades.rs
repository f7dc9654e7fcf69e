//! A mistake is reported once, at its location. An invalid value causes no other findings.

use std::cell::Cell;
use std::collections::BTreeSet;

use gpuc_syntax::diag::Diagnostic;
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::examples::examples;
use crate::support::{Outcome, compile_text, files_below, repository};

/// Values that almost no key accepts.
const INVALID_VALUES: &[&str] = &[
    "true",
    "1.5",
    "wrong!",
    "99999999999999999999",
    "[]",
    "{a: b}",
    "-7",
    MISSPELLED,
];

/// The original value with one letter appended.
const MISSPELLED: &str = "…x";

/// Valid files: standalone examples, clusters with all settings, and the good examples of codes.
fn texts() -> Vec<String> {
    let examples = examples().into_values();
    let alone = examples.filter_map(|paths| match paths.as_slice() {
        [only] => Some(std::fs::read_to_string(repository().join(only)).unwrap()),
        _ => None,
    });
    let rich = files_below(&repository().join("tests/compiler/rich"));
    let good = gpuc::codes().into_iter();
    let good = good.map(|code| gpuc_syntax::diag::split_example(&code.good()).0.to_owned());
    alone.chain(rich.into_values()).chain(good).collect()
}

/// A misplaced or misspelled key is one mistake. Its absence from the correct place is not reported.
#[test]
fn unknown_key_causes_no_other_findings() {
    let pool = "{name: b, gpu: {model: A30, perNode: 2}, hosts: [b], nodes: {count: 1}, ";
    for (wrong, help) in [
        (
            "allocation: dra}",
            "move it to `nodePools[1].stack.allocation`",
        ),
        ("stack: {alocation: dra}}", "did you mean `allocation`?"),
    ] {
        let text = format!(
            "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.36\"}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}
nodePools:
  - {{name: a, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
  - {pool}{wrong}
teams: [{{name: t, quota: {{gpus: [{{pool: a, guaranteed: 2}}]}}}}]
"
        );
        let without = text.replace(wrong, "}");
        let codes = |text: &str| {
            let found = compile_text(text).findings;
            found.iter().map(|it| it.code.id).collect::<Vec<_>>()
        };
        assert!(
            codes(&without).contains(&"GPUC2160"),
            "{:?}",
            codes(&without)
        );
        let outcome = compile_text(&text);
        let [only] = &outcome.findings[..] else {
            panic!("{wrong}: {:?}", outcome.findings);
        };
        assert!(
            only.help.as_deref().unwrap_or_default().starts_with(help),
            "{only:?}"
        );
    }
}

/// Collects the spans of the leaves of a document.
fn collect_leaves(node: &Node, found: &mut Vec<Span>) {
    if matches!(node.value, Value::Scalar(_)) && node.span().is_written() {
        found.push(node.span());
    }
    // An unreadable code in `allow` suppresses nothing, so that the allowed warning is reported again.
    for entry in node.entries().iter().filter(|it| it.key != "allow") {
        collect_leaves(&entry.value, found);
    }
    for item in node.items() {
        collect_leaves(item, found);
    }
}

/// New findings that are neither at the changed location nor refer to it.
fn unrelated_findings(
    outcome: &Outcome,
    changed: Span,
    before: &BTreeSet<String>,
) -> Option<Vec<String>> {
    let findings = outcome.findings.iter();
    let at = |found: &Diagnostic| changed.contains(found.primary.span);
    let points = |found: &Diagnostic| found.labels.iter().any(|it| changed.contains(it.span));
    // Findings about values that cannot be read. Other findings may be correct: a readable but wrong name is unknown to
    // the keys that refer to it.
    let is_wrong = |found: &Diagnostic| {
        let unknown = ["GPUC01", "GPUC10"]
            .iter()
            .any(|it| found.code.id.starts_with(it));
        unknown && at(found)
    };
    if !outcome.findings.iter().any(is_wrong) {
        return None;
    }
    let others = findings.filter(|it| !at(it) && !points(it) && !before.contains(&it.message));
    let others = others.map(|it| format!("{} {}", it.code.id, it.message));
    Some(others.collect())
}

/// A valid file with its findings and the spans of its leaves.
struct ValidFile {
    text: String,
    messages: BTreeSet<String>,
    leaves: Vec<Span>,
}

impl ValidFile {
    fn new(text: String) -> Option<Self> {
        let outcome = compile_text(&text);
        let messages = outcome.findings.iter().map(|it| it.message.clone());
        let messages = messages.collect();
        let mut spans = Vec::new();
        collect_leaves(&outcome.compilations.first()?.loaded.root, &mut spans);
        Some(Self {
            text,
            messages,
            leaves: spans,
        })
    }

    /// The unrelated findings after a leaf is replaced.
    fn unrelated_findings_after(&self, leaf: usize, wrong: &str) -> Option<Vec<String>> {
        let span = self.leaves[leaf];
        let range = span.start as usize..span.end as usize;
        let misspelled = format!("{}x", &self.text[range.clone()]);
        let wrong = if wrong == MISSPELLED {
            &misspelled
        } else {
            wrong
        };
        let mut changed = self.text.clone();
        changed.replace_range(range, wrong);
        let end = span.start + u32::try_from(wrong.len()).unwrap();
        unrelated_findings(
            &compile_text(&changed),
            Span { end, ..span },
            &self.messages,
        )
    }
}

#[test]
fn invalid_value_causes_no_other_findings() {
    let texts = texts();
    let config = Config {
        cases: 120,
        failure_persistence: None,
        ..Config::default()
    };
    let generated = (
        prop::sample::select(texts),
        any::<prop::sample::Index>(),
        prop::sample::select(INVALID_VALUES),
    );
    let checked = Cell::new(0);
    let result = TestRunner::new(config).run(&generated, |(text, leaf, wrong)| {
        let Some(file) = ValidFile::new(text) else {
            return Ok(());
        };
        let leaf = leaf.index(file.leaves.len());
        let Some(found) = file.unrelated_findings_after(leaf, wrong) else {
            return Ok(());
        };
        checked.set(checked.get() + 1);
        prop_assert!(found.is_empty(), "{wrong}: {found:#?}");
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
    assert!(checked.get() > 30, "only {} mistakes", checked.get());
}

#[test]
fn mistake_is_reported_once() {
    let file = |allocatable: &str, cpu: &str, team: &str| {
        format!(
            "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.36\"}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}
nodePools:
  - name: gpu
    gpu: {{model: A30, perNode: 2}}
    hosts: [gpu-1, gpu-2]
    nodes: {{count: 2}}
    allocatable: {{cpu: {allocatable}}}
teams: [{{name: {team}}}]
workloads:
  - {{name: chat, team: research, pool: gpu, deployment: {{image: \"registry.example.com/model:1.0.0\", gpus: 1, cpu: {cpu}}}}}
"
        )
    };
    let check = |text: &str, expected: &[&str]| {
        let outcome = compile_text(text);
        let messages = outcome.findings.iter().map(|it| it.message.as_str());
        assert_eq!(messages.collect::<Vec<_>>(), expected, "{text}");
    };
    check(&file("96", "4", "research"), &[]);
    let large = "99999999999999999999";
    let not = |path: &str, what: &str| {
        format!("`{path}` must be a quantity such as 400, 500m or 4Ti, not `{what}`")
    };
    let of_pool = "nodePools[0].allocatable.cpu";
    let of_workload = "workloads[0].deployment.cpu";
    check(&file("96", large, "research"), &[&not(of_workload, large)]);
    check(&file(large, "4", "research"), &[&not(of_pool, large)]);
    check(&file("true", "4", "research"), &[&not(of_pool, "true")]);
    let both = [not(of_pool, "true"), not(of_workload, large)];
    check(
        &file("true", large, "research"),
        &both.each_ref().map(String::as_str),
    );
    let name = "`teams[0].name` must be a string, not `7`";
    check(&file("96", "4", "7"), &[name]);
    // An unknown number of nodes causes no finding about workloads that share the namespace.
    let rich = include_str!("rich/gke.yaml");
    let nodes = "nodes: 2, gpusPerNode: 8, runAs";
    let wrong = rich.replacen(nodes, "nodes: some, gpusPerNode: 8, runAs", 1);
    assert_ne!(rich, wrong);
    let outcome = compile_text(&wrong);
    assert_eq!(outcome.codes(), ["GPUC0101"], "{}", outcome.text());
    // An unknown team causes no finding about the pools and workloads of teams.
    let rich = include_str!("rich/workloads.yaml");
    let train = "name: train\n    team: research";
    let wrong = rich.replacen(train, "name: train\n    team: [research]", 1);
    assert_ne!(rich, wrong);
    let outcome = compile_text(&wrong);
    assert_eq!(outcome.codes(), ["GPUC0101"], "{}", outcome.text());
    // An error with a cause of its own is still reported.
    let does_not_fit = "workload `chat` does not fit on pool `gpu`";
    check(&file("96", "97", "7"), &[name, does_not_fit]);
}
