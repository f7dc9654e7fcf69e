//! Every field and every line of every tree has an answer.

use std::collections::{BTreeMap, BTreeSet};

use gpuc::emit::{Shown, shown};
use gpuc::lock::LOCK_FILE;
use gpuc::why::{At, Index, Kind, Reason};
use rayon::prelude::*;

use crate::corpus::{Case, cases};

/// Whether a reason says anything: where it was written, or a name with what it is.
fn says(reason: &Reason) -> bool {
    match reason.kind {
        Kind::Written => !reason.inputs.is_empty(),
        Kind::Default | Kind::Rule | Kind::Fixed => !reason.what.trim().is_empty(),
        Kind::Fact => {
            let source = reason.source.as_deref().unwrap_or_default();
            !reason.what.trim().is_empty() && !source.trim().is_empty()
        }
    }
}

/// How many parts of a cluster's files were looked at, and an example for each file that has some without an answer.
fn unanswered(case: &Case) -> (usize, Vec<(String, String)>) {
    let mut without = Vec::new();
    let mut count = 0;
    let index = Index::new(case.compilation()).unwrap();
    for file in index.files() {
        let page = index
            .page(file)
            .unwrap_or_else(|| panic!("{file} has no page"));
        let parts = index.parts(file, &page);
        assert!(!parts.is_empty(), "{}: {file} has no parts", case.name);
        for (at, reasons) in parts {
            count += 1;
            if !reasons.iter().any(says) {
                let example = format!("{} {file} {at:?}: {reasons:?}", case.name);
                without.push((file.to_owned(), example));
            }
        }
        // The lines of a document too, its comments among them. Other files have nothing but lines.
        let is_whole = case.name.contains('/') && page.root().is_some();
        for line in (1..=page.line_count()).filter(|_| is_whole) {
            let reasons = index.reasons(file, &page, &At::Line(line));
            assert!(reasons.iter().any(says), "{} {file}:{line}", case.name);
        }
    }
    (count, without)
}

#[test]
fn every_field_and_every_line_has_an_answer() {
    let found: Vec<_> = cases().par_iter().map(unanswered).collect();
    let count: usize = found.iter().map(|(count, _)| count).sum();
    let without = found.into_iter().flat_map(|(_, without)| without);
    let without: BTreeMap<_, _> = without.collect();
    assert!(count > 100_000, "only {count} parts were looked at");
    assert!(without.is_empty(), "{} files: {without:#?}", without.len());
}

/// What `why` looks things up in is what is written.
#[test]
fn every_file_shows_something_of_the_plan() {
    for case in cases() {
        let shown = shown(case.plan(), case.compilation().loaded.file.as_deref());
        let files: BTreeSet<_> = case.tree().files().map(|(path, _)| path).collect();
        let known: BTreeSet<_> = shown.keys().map(String::as_str).collect();
        assert_eq!(files, known, "{}", case.name);
        for (path, shown) in &shown {
            let text = &case.tree().get(path).unwrap().contents;
            if let Shown::Script(parts) = shown {
                assert_eq!(&parts.text(), text, "{} {path}", case.name);
                assert_eq!(
                    parts.lines().len(),
                    text.lines().count(),
                    "{} {path}",
                    case.name
                );
            }
        }
        assert!(!known.contains(LOCK_FILE));
    }
}
