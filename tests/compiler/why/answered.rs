//! Every field and every line of every tree has an answer.

use std::collections::{BTreeMap, BTreeSet};

use gpuc::emit::{Shown, shown};
use gpuc::lock::LOCK_FILE;
use gpuc::why::{At, Index, Kind, Reason};

use crate::corpus::cases;

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

#[test]
fn every_field_and_every_line_has_an_answer() {
    let mut without = BTreeMap::new();
    let mut count = 0;
    for case in cases() {
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
                    without.entry(file.to_owned()).or_insert(example);
                }
            }
            // The lines of a document too, its comments among them.
            let is_whole = case.name.contains('/');
            for line in (1..=page.line_count()).filter(|_| is_whole) {
                let reasons = index.reasons(file, &page, &At::Line(line));
                assert!(reasons.iter().any(says), "{} {file}:{line}", case.name);
            }
        }
    }
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
