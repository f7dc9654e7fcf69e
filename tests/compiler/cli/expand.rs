//! `gpuc expand`: the expanded file is equivalent to the original.

use std::collections::BTreeMap;

use gpuc_syntax::diag::Severity;

use super::{GOOD, Workspace};
use crate::support::examples::{compiled_examples, examples};
use crate::support::{Outcome, compile_text};

/// The expanded documents of an outcome.
fn expanded_documents(outcome: &Outcome) -> String {
    let documents = outcome.compilations.iter().map(|one| {
        let cluster = one.cluster.as_ref().unwrap();
        gpuc_compile::expand::expand(&one.loaded.root, cluster)
    });
    documents.collect::<Vec<_>>().join("---\n")
}

/// Asserts that the expanded file builds the same files, including the lock and its digest of the input.
fn assert_equivalent(name: &str, outcome: &Outcome) {
    let text = expanded_documents(outcome);
    let again = compile_text(&text);
    let worse = again
        .findings
        .iter()
        .filter(|found| found.severity == Severity::Error);
    assert_eq!(worse.count(), 0, "{name}:\n{text}\n{}", again.text());
    assert_eq!(
        again.codes(),
        outcome.codes(),
        "{name}:\n{text}\n{}",
        again.text()
    );
    let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) = (outcome.files(), again.files());
    for (path, contents) in &old {
        assert_eq!(new.get(path), Some(contents), "{name}: {path}\n{text}");
    }
    assert_eq!(new.len(), old.len(), "{name}");
}

#[test]
fn expanded_examples_are_equivalent() {
    for (name, outcome) in compiled_examples() {
        assert_equivalent(name, outcome);
    }
}

#[test]
fn expanded_good_examples_are_equivalent() {
    for code in gpuc::codes() {
        let outcome = compile_text(&code.good());
        if outcome.compilations.iter().all(|one| one.output.is_some()) {
            assert_equivalent(code.id, &outcome);
        }
    }
}

#[test]
fn multiline_and_special_texts_are_kept() {
    let example = examples().remove("quickstart").unwrap();
    let text = std::fs::read_to_string(crate::support::repository().join(&example[0])).unwrap();
    for special in ["no", "1e3", "0755", "a: b", "# c", "'", "ä", "null", "~"] {
        let special = serde_json::to_string(special).unwrap();
        let text = text.replace(
            "{name: infer,",
            &format!("{{name: infer, tags: {{key: {special}}},"),
        );
        let outcome = compile_text(&text);
        if outcome.files().is_empty() {
            continue;
        }
        assert_equivalent(&special, &outcome);
    }
}

#[test]
fn expanded_json_shows_the_source_of_defaults() {
    let workspace = Workspace::with(GOOD);
    let result = workspace.run(&["expand"]).expect_code(0);
    assert_eq!(result.stderr, "");
    assert!(
        result.stdout.contains("devicePlugin: gpuc  # default\n"),
        "{}",
        result.stdout
    );
    assert!(result.stdout.contains("model: A30\n"), "{}", result.stdout);
    // The base is merged into the file, which no longer names it.
    workspace.write("base.yaml", &GOOD.replace("metadata: {name: demo}\n", ""));
    let with_base = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\nbase: base.yaml\n";
    workspace.write("gpu-cluster.yaml", with_base);
    let result = workspace.run(&["expand"]).expect_code(0);
    assert!(!result.stdout.contains("base"), "{}", result.stdout);
    // A placeholder for an unreadable value has no origin.
    workspace.write("gpu-cluster.yaml", &GOOD.replace("count: 1", "count: one"));
    let result = workspace.run(&["expand"]).expect_code(2);
    assert!(
        result.stdout.is_empty() && result.stderr.contains("`one`"),
        "{}{}",
        result.stdout,
        result.stderr
    );
}

#[test]
fn file_is_printed_despite_findings() {
    let workspace = Workspace::with(GOOD);
    let text = workspace.run(&["expand"]).expect_code(0).stdout;
    assert!(text.contains("nodePools"), "{text}");
    for format in ["json", "sarif", "github", "markdown"] {
        let result = workspace
            .run(&["expand", "--format", format])
            .expect_code(0);
        assert_eq!(result.stdout, text, "{format}");
    }
}
