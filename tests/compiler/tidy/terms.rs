//! `terms.tsv`: terms that comments, messages and documents must not use, with their replacements.

use regex::Regex;

use super::code::SourceText;
use super::tracked_files;

/// The file name extensions that are searched.
const SEARCHED: &[&str] = &[".rs", ".md", ".sh", ".j2", ".yaml", ".yml", ".jq", ".toml"];

/// Generated files, quotations, and files without prose.
const EXCLUDED: &[&str] = &["golden/", "fuzz/corpus/", "LICENSE"];

/// A line of `terms.tsv`.
struct Term {
    /// The term.
    pattern: Regex,
    /// The suggested replacement.
    replacement: &'static str,
    /// The allowed uses, matched from the beginning of the term.
    unless: Option<Regex>,
}

/// The pattern for a whole word, in any case, across line breaks.
fn pattern(term: &str) -> String {
    format!(r"(?i)\b(?:{})\b", term.replace(' ', r"\s+"))
}

fn terms() -> Vec<Term> {
    let anchored = |pattern: String| Regex::new(&format!("^(?:{pattern})")).unwrap();
    let lines = include_str!("terms.tsv").lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let (&[term, replacement] | &[term, replacement, _]) = columns.as_slice() else {
                panic!("a line must have two or three columns: {line:?}");
            };
            Term {
                pattern: anchored(pattern(term)),
                replacement,
                unless: columns.get(2).map(|unless| anchored(pattern(unless))),
            }
        })
        .collect()
}

/// All terms in one expression.
fn any_term() -> Regex {
    let lines = include_str!("terms.tsv").lines();
    let terms = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let patterns: Vec<_> = terms
        .map(|line| pattern(line.split('\t').next().unwrap()))
        .collect();
    Regex::new(&patterns.join("|")).unwrap()
}

/// The prose of a file: the comments and texts of a Rust file, or the lines of any other file without comment marks.
fn prose(path: &str, text: &str) -> String {
    if super::is_rust(path) {
        return SourceText::parse(text).prose;
    }
    let lines = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches(['#', '>']));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether the match is a name: part of a name with hyphens, quoted alone, or a value in YAML.
fn is_name(text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (&text[..start], &text[end..]);
    let previous = before.chars().next_back().unwrap_or(' ');
    let next = after.chars().next().unwrap_or(' ');
    let is_value = before
        .strip_suffix(": ")
        .is_some_and(|key| key.ends_with(char::is_alphanumeric))
        && (matches!(next, ',' | '}' | '\n') || after.starts_with(" #"));
    let in_quotes = "\"'`".contains(previous) && "\"'`".contains(next);
    "-@{/".contains(previous) || "-}".contains(next) || in_quotes || is_value
}

/// The terms in a file, each with its line and its replacement.
fn found(path: &str, text: &str, any: &Regex, terms: &[Term]) -> Vec<String> {
    let prose = prose(path, text);
    let hits = any
        .find_iter(&prose)
        .filter(|hit| !is_name(&prose, hit.start(), hit.end()));
    hits.filter_map(|hit| {
        let rest = &prose[hit.start()..];
        let term = terms.iter().find(|term| term.pattern.is_match(rest))?;
        if term
            .unless
            .as_ref()
            .is_some_and(|unless| unless.is_match(rest))
        {
            return None;
        }
        let line = prose[..hit.start()].matches('\n').count() + 1;
        let word = hit
            .as_str()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let replacement = term.replacement;
        Some(format!(
            "{path}:{line}: \"{word}\": write \"{replacement}\""
        ))
    })
    .collect()
}

#[test]
fn texts_use_standard_terms() {
    let (any, terms) = (any_term(), terms());
    let is_searched = |path: &str| {
        SEARCHED.iter().any(|end| path.ends_with(end))
            && !EXCLUDED.iter().any(|start| path.starts_with(start))
    };
    let wrong: Vec<_> = tracked_files("")
        .iter()
        .filter(|(path, text)| is_searched(path) && !text.contains("This file is generated."))
        .filter(|(path, _)| path != "tests/compiler/tidy/terms.rs")
        .flat_map(|(path, text)| found(path, text, &any, &terms))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn terms_are_found_only_in_prose() {
    let (any, terms) = (any_term(), terms());
    let found = |path: &str, text: &str| found(path, text, &any, &terms).len();
    assert_eq!(found("a.rs", "/// Nobody.\nfn nobody() {}\n"), 1);
    assert_eq!(
        found(
            "a.rs",
            "/// It is\n/// told.\nlet a = \"b \\\n    anew\";\n"
        ),
        2
    );
    assert_eq!(found("a.rs", "// is\nlet told = 1;\n// told\n"), 0);
    assert_eq!(found("a.rs", "const A: &str = \"mig-nobody-cuts\";\n"), 0);
    assert_eq!(
        found("a.yaml", "managedBy: nobody # why\nuser: \"nobody\"\n"),
        0
    );
    assert_eq!(
        found("a.md", "It asks for a GPU, and asks for confirmation.\n"),
        1
    );
    assert_eq!(found("a.sh", "# read for\n# ever\n"), 1);
}
