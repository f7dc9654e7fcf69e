//! `gpuc expand`: a file that says more and means the same.

use std::collections::BTreeMap;

use gpuc::diag::Severity;

use super::{GOOD, Place};
use crate::golden::{compile_example, examples};
use crate::support::{Outcome, compile_text};

/// The documents of an outcome, each with every default written out.
fn expanded(outcome: &Outcome) -> String {
    let documents = outcome.compilations.iter().map(|one| {
        let cluster = one.cluster.as_ref().unwrap();
        gpuc::expand::expand(&one.loaded.root, cluster)
    });
    documents.collect::<Vec<_>>().join("---\n")
}

/// What expanding and building again has to make, name by name: every file, the lock with its digest of the input too.
fn assert_means_the_same(name: &str, outcome: &Outcome) {
    let text = expanded(outcome);
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
fn every_example_means_the_same_with_its_defaults_written_out() {
    for (name, paths) in examples() {
        assert_means_the_same(&name, &compile_example(&paths));
    }
}

#[test]
fn so_does_every_good_example_of_a_finding() {
    for code in gpuc::codes() {
        let outcome = compile_text(code.good);
        if outcome.compilations.iter().all(|one| one.output.is_some()) {
            assert_means_the_same(code.id, &outcome);
        }
    }
}

#[test]
fn texts_of_several_lines_and_odd_ones_are_kept() {
    let example = examples().remove("quickstart").unwrap();
    let text = std::fs::read_to_string(crate::support::repository().join(&example[0])).unwrap();
    for odd in ["no", "1e3", "0755", "a: b", "# c", "'", "ä", "null", "~"] {
        let odd = serde_json::to_string(odd).unwrap();
        let text = text.replace(
            "{name: infer,",
            &format!("{{name: infer, tags: {{key: {odd}}},"),
        );
        let outcome = compile_text(&text);
        if outcome.files().is_empty() {
            continue;
        }
        assert_means_the_same(&odd, &outcome);
    }
}

#[test]
fn it_is_printed_as_data_and_shows_where_a_default_comes_from() {
    let place = Place::with(GOOD);
    let ran = place.run(&["expand"]).ends_with(0);
    assert_eq!(ran.stderr, "");
    assert!(
        ran.stdout.contains("devicePlugin: gpuc  # default\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("model: A30\n"), "{}", ran.stdout);
    // A base is merged in and needed no more.
    place.write("base.yaml", &GOOD.replace("metadata: {name: demo}\n", ""));
    let upon = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\nbase: base.yaml\n";
    place.write("gpu-cluster.yaml", upon);
    let ran = place.run(&["expand"]).ends_with(0);
    assert!(!ran.stdout.contains("base"), "{}", ran.stdout);
    // What is made up for what cannot be read is nobody's.
    place.write("gpu-cluster.yaml", &GOOD.replace("count: 1", "count: one"));
    let ran = place.run(&["expand"]).ends_with(2);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("`one`"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn the_file_is_printed_whatever_the_findings_look_like() {
    let place = Place::with(GOOD);
    let text = place.run(&["expand"]).ends_with(0).stdout;
    assert!(text.contains("nodePools"), "{text}");
    for format in ["json", "sarif", "github", "markdown"] {
        let ran = place.run(&["expand", "--format", format]).ends_with(0);
        assert_eq!(ran.stdout, text, "{format}");
    }
}
