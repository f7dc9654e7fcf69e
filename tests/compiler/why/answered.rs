//! Every field and every line of every tree has an explanation.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::emit::{FileContent, index_files};
use gpuc_compile::lock::LOCK_FILE;
use gpuc_diff::why::{Index, Kind, QueryTarget, Reason};
use rayon::prelude::*;

use crate::corpus::{Case, cases};
use crate::sample;

/// Whether a reason has content: a location, or a name with a description.
fn has_content(reason: &Reason) -> bool {
    match reason.kind {
        Kind::Written => !reason.inputs.is_empty(),
        Kind::Default | Kind::Rule | Kind::Fixed => !reason.text.trim().is_empty(),
        Kind::Fact => {
            let source = reason.source.as_deref().unwrap_or_default();
            !reason.text.trim().is_empty() && !source.trim().is_empty()
        }
    }
}

/// The number of checked parts of some of a cluster's files, and an example for each file with unexplained parts.
fn parts_without_answer(
    case: &Case,
    selected: &BTreeSet<(&str, String)>,
) -> (usize, Vec<(String, String)>) {
    let mut without = Vec::new();
    let mut count = 0;
    let index = Index::new(case.compilation()).unwrap();
    let is_selected = |file: &str| selected.contains(&(case.name.as_str(), file.to_owned()));
    for file in index.files().filter(|file| is_selected(file)) {
        let page = index
            .document(file)
            .unwrap_or_else(|| panic!("{file} is not a document"));
        let parts = index.parts(file, &page);
        assert!(!parts.is_empty(), "{}: {file} has no parts", case.name);
        for (at, reasons) in parts {
            count += 1;
            if !reasons.iter().any(has_content) {
                let example = format!("{} {file} {at:?}: {reasons:?}", case.name);
                without.push((file.to_owned(), example));
            }
        }
        // The lines of a document are checked too, because of its comments. Other files have only lines.
        let is_whole = case.name.contains('/') && page.root().is_some();
        for line in (1..=page.line_count()).filter(|_| is_whole) {
            let reasons = index.reasons(file, &page, &QueryTarget::Line(line));
            assert!(
                reasons.iter().any(has_content),
                "{} {file}:{line}",
                case.name
            );
        }
    }
    (count, without)
}

/// The files of all cases, by case and path.
fn all_files() -> Vec<(&'static Case, String)> {
    let files = cases().iter().flat_map(|case| {
        let paths = case.tree().files().map(|(path, _)| path.to_owned());
        let paths = paths.chain([LOCK_FILE.to_owned()]);
        paths.map(move |path| (case, path))
    });
    files.collect()
}

/// The sample has one file for each cloud, folder and file name without the part from the user.
#[test]
fn sampled_fields_and_lines_have_answers() {
    let name = |(case, path): &(&Case, String)| format!("{} {path}", case.name);
    let kind = |(case, path): &(&Case, String)| {
        let cloud = case.cluster().cloud.facts().key;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let file = file.split(['-', '.']).next().unwrap();
        format!("{cloud} {folder} {file}")
    };
    assert_answers(sample::one_of_each(all_files(), name, kind), 1_000);
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_all_fields_and_lines_have_answers() {
    assert_answers(all_files(), 100_000);
}

fn assert_answers(files: Vec<(&'static Case, String)>, minimum: usize) {
    let files = files
        .into_iter()
        .map(|(case, path)| (case.name.as_str(), path));
    let selected: BTreeSet<(&str, String)> = files.collect();
    let with_files = cases().par_iter().filter(|case| {
        let mut selected = selected.iter();
        selected.any(|(name, _)| *name == case.name)
    });
    let found: Vec<_> = with_files
        .map(|case| parts_without_answer(case, &selected))
        .collect();
    let count: usize = found.iter().map(|(count, _)| count).sum();
    let without = found.into_iter().flat_map(|(_, without)| without);
    let without: BTreeMap<_, _> = without.collect();
    assert!(count > minimum, "only {count} parts were checked");
    assert!(without.is_empty(), "{} files: {without:#?}", without.len());
}

/// The paths that `why` looks up are those of the generated files.
#[test]
fn files_refer_to_the_plan() {
    for case in cases() {
        let index = index_files(case.plan(), case.compilation().loaded.file.as_deref());
        let files: BTreeSet<_> = case.tree().files().map(|(path, _)| path).collect();
        let known: BTreeSet<_> = index.keys().map(String::as_str).collect();
        assert_eq!(files, known, "{}", case.name);
        for (path, content) in &index {
            let text = &case.tree().get(path).unwrap().contents;
            if let FileContent::Script(parts) = content {
                assert_eq!(&parts.text(), text, "{} {path}", case.name);
                assert_eq!(
                    parts.line_purposes().len(),
                    text.lines().count(),
                    "{} {path}",
                    case.name
                );
            }
        }
        assert!(!known.contains(LOCK_FILE));
    }
}
