//! Every code has the properties that its explanation documents.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gpuc_syntax::diag::{
    Code, Correction, Edit, FORMER_NAMES, MANIFEST_SEPARATOR, Severity, TABLE_GAPS,
};

use crate::support::{Outcome, compile_text, expect_files, repository};

/// Every code with the outcome of its invalid example, compiled once for all tests.
fn outcomes() -> &'static [(&'static Code, Outcome)] {
    static OUTCOMES: LazyLock<Vec<(&'static Code, Outcome)>> = LazyLock::new(|| {
        let codes = gpuc::codes().into_iter();
        codes.map(|code| (code, compile_text(code.bad))).collect()
    });
    &OUTCOMES
}

#[test]
fn ids_and_names_are_unique_and_well_formed() {
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    for code in gpuc::codes() {
        let digits = code.id.strip_prefix("GPUC").unwrap_or_default();
        let well_formed = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
        assert!(well_formed, "{} is not a valid id", code.id);
        assert!(ids.insert(code.id), "{} is used twice", code.id);
        assert!(names.insert(code.name), "{} is used twice", code.name);
        let hyphenated = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(
            code.name.chars().all(hyphenated),
            "{} is not a valid name",
            code.name
        );
        assert!(
            !code.summary.ends_with('.'),
            "{}: the summary ends in a full stop",
            code.id
        );
        assert!(
            code.checks.starts_with("Whether "),
            "{}: `What it checks` must begin with `Whether`",
            code.id
        );
    }
}

#[test]
fn table_gaps_are_codes_that_explain_how_to_allow_them() {
    let codes = gpuc::codes();
    for (id, name) in TABLE_GAPS {
        let code = codes.iter().find(|code| code.id == *id).expect(id);
        assert_eq!(code.name, *name);
        assert!(code.remedy.contains(&format!("allow: [{name}]")), "{name}");
        assert!(code.remedy.contains("`--deny` does"), "{name}");
    }
    assert!(TABLE_GAPS.is_sorted_by_key(|(id, _)| id));
}

#[test]
fn table_gaps_can_be_allowed() {
    let codes = gpuc::codes().into_iter().filter(|code| code.is_table_gap());
    for code in codes {
        let allow = format!("allow: [{}]\nkubernetes:", code.name);
        let outcome = compile_text(&code.bad.replacen("kubernetes:", &allow, 1));
        assert_eq!(outcome.codes(), [""; 0], "{}", code.name);
        assert!(outcome.compilations[0].output.is_some(), "{}", code.name);
    }
}

#[test]
fn former_names_are_unique_and_belong_to_codes() {
    let codes = gpuc::codes();
    let mut names: BTreeSet<_> = codes.iter().map(|code| code.name).collect();
    for (id, name) in FORMER_NAMES {
        assert!(
            codes.iter().any(|code| code.id == *id),
            "{id} is not the id of a code"
        );
        assert!(names.insert(name), "{name} is used twice");
    }
    assert!(FORMER_NAMES.is_sorted_by_key(|(id, _)| id));
}

/// The ids that a text names in backticks, alone or as a range.
fn ids_in_text(text: &str) -> BTreeSet<String> {
    let words: Vec<_> = text.split('`').collect();
    let id = |word: &str| word.strip_prefix("GPUC")?.parse::<u32>().ok();
    let mut found = BTreeSet::new();
    for (index, word) in words.iter().enumerate() {
        let Some(first) = id(word) else { continue };
        let is_range = words.get(index + 1) == Some(&" to ");
        let last = words.get(index + 2).filter(|_| is_range);
        let last = last.and_then(|word| id(word)).unwrap_or(first);
        found.extend((first..=last).map(|id| format!("GPUC{id:04}")));
    }
    found
}

#[test]
fn manifests_page_lists_all_findings() {
    let page = std::fs::read_to_string(repository().join("docs/manifests.md")).unwrap();
    let codes = gpuc::codes().into_iter().map(|code| code.id.to_owned());
    let of_manifests: BTreeSet<_> = codes.filter(|id| id.starts_with("GPUC40")).collect();
    let missing: Vec<_> = of_manifests
        .difference(&ids_in_text(&page))
        .cloned()
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// The text that an example's correction replaces occurs once.
#[test]
fn fixes_of_examples_are_unambiguous() {
    for code in gpuc::codes() {
        if let Correction::Replace(from, to) = code.correction {
            assert_eq!(code.bad.matches(from).count(), 1, "{}: {from}", code.id);
            assert_ne!(from, to, "{}", code.id);
        }
        for part in [code.checks, code.reason, code.remedy] {
            assert!(
                !part.is_empty() && part == part.trim(),
                "{}: {part}",
                code.id
            );
        }
    }
}

#[test]
fn bad_examples_raise_only_their_code() {
    let wrong: Vec<_> = outcomes()
        .iter()
        .filter_map(|(code, outcome)| {
            let as_promised = outcome.codes() == [code.id]
                && outcome
                    .findings
                    .iter()
                    .all(|found| found.severity == code.severity);
            (!as_promised).then(|| format!("{}:\n{}", code.id, outcome.text()))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} bad examples:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn good_examples_raise_nothing_and_build() {
    let wrong: Vec<_> = gpuc::codes()
        .into_iter()
        .filter_map(|code| {
            let outcome = compile_text(&code.good());
            let silent = outcome.findings.is_empty();
            let built = outcome.compilations.iter().all(|one| one.output.is_some());
            (!silent || !built).then(|| format!("{}:\n{}", code.id, outcome.text()))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} good examples:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn findings_have_help_and_no_full_stop() {
    let mut wrong = Vec::new();
    for (code, outcome) in outcomes() {
        for found in &outcome.findings {
            if found.help.is_none() {
                wrong.push(format!("{}: no help", code.id));
            }
            if found.message.ends_with('.') {
                wrong.push(format!("{}: a full stop at the end", code.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn fixes_resolve_their_finding() {
    let mut wrong = Vec::new();
    for (code, outcome) in outcomes() {
        let edits = edits(outcome);
        if edits.is_empty() {
            continue;
        }
        let fixed = compile_text(&apply_edits(code.bad, edits));
        if fixed
            .findings
            .iter()
            .any(|found| found.severity == Severity::Error)
        {
            wrong.push(format!("{}:\n{}", code.id, fixed.text()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} fixes do not resolve:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn rendered_findings_match_golden_files() {
    let rendered = outcomes().iter();
    let rendered = rendered.map(|(code, outcome)| (format!("{}.txt", code.id), outcome.text()));
    expect_files("golden/diagnostics", &rendered.collect());
}

/// The edits of all findings. Only the first of several overlapping edits is included.
fn edits(outcome: &Outcome) -> Vec<Edit> {
    let fixes = outcome
        .findings
        .iter()
        .filter_map(|found| found.fix.as_ref());
    let mut edits: Vec<_> = fixes.flat_map(|fix| fix.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| edit.span);
    edits.dedup_by(|next, before| next.span.start < before.span.end || next == before);
    edits
}

fn apply_edits(text: &str, mut edits: Vec<Edit>) -> String {
    let mut text = text.to_owned();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
    let manifest = text
        .find(MANIFEST_SEPARATOR)
        .map_or(0, |at| at + MANIFEST_SEPARATOR.len());
    for edit in edits {
        let start = if edit.span.source == 0 { 0 } else { manifest };
        let place = start + edit.span.start as usize..start + edit.span.end as usize;
        text.replace_range(place, &edit.text);
    }
    text
}
