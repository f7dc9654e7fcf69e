//! A parser of metrics that shares no code with the daemon, for OpenMetrics 1.0 and Prometheus' text format 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Labels = BTreeMap<String, String>;

/// The series by name and labels, and the type of every family.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    pub(crate) types: BTreeMap<String, String>,
    pub(crate) series: BTreeMap<(String, Labels), f64>,
}

impl Exposition {
    /// The value of the only series of this name.
    pub(crate) fn single_value(&self, name: &str) -> f64 {
        let all = self.all_series(name);
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        all[0].1
    }

    pub(crate) fn all_series(&self, name: &str) -> Vec<(&Labels, f64)> {
        let series = self.series.iter().filter(|((it, _), _)| it == name);
        series
            .map(|((_, labels), number)| (labels, *number))
            .collect()
    }

    /// The values of the series that have these labels. They can have further labels.
    pub(crate) fn values_with_labels(&self, name: &str, expected: &[(&str, &str)]) -> Vec<f64> {
        let all = self.all_series(name).into_iter();
        let matches = |labels: &Labels| {
            let mut expected = expected.iter();
            expected.all(|(key, value)| labels.get(*key).is_some_and(|it| it == value))
        };
        all.filter(|(labels, _)| matches(labels))
            .map(|(_, number)| number)
            .collect()
    }
}

/// Parses a page. Panics if a scraper would reject the page.
pub(crate) fn parse(text: &str, open_metrics: bool) -> Exposition {
    assert!(text.ends_with('\n'), "the last line has no line feed");
    let body = if open_metrics {
        text.strip_suffix("# EOF\n")
            .expect("the page ends with `# EOF`")
    } else {
        text
    };
    let mut read = Exposition::default();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split(' ').next().expect("HELP has a name");
            assert!(helped.insert(name.to_owned()), "{name} has two HELP lines");
        } else if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').expect("TYPE has a type");
            let kinds: &[&str] = if open_metrics {
                &["counter", "gauge", "histogram", "info", "unknown"]
            } else {
                &["counter", "gauge", "histogram", "untyped"]
            };
            assert!(kinds.contains(&kind), "{line}");
            assert!(helped.contains(name), "{name} has no HELP line");
            let before = read.types.insert(name.to_owned(), kind.to_owned());
            assert_eq!(before, None, "{name} has two types");
            name.clone_into(&mut current);
        } else {
            assert!(!line.starts_with('#') && !line.is_empty(), "{line:?}");
            let (name, labels, number) = parse_sample(line);
            let suffixes: &[&str] = match (read.types[&current].as_str(), open_metrics) {
                ("counter", true) => &["_total"],
                ("info", _) => &["_info"],
                ("histogram", _) => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            let suffix = name.strip_prefix(current.as_str());
            let suffix = suffix.unwrap_or_else(|| panic!("{line} is not a series of {current}"));
            assert!(suffixes.contains(&suffix), "{line}");
            let before = read.series.insert((name, labels), number);
            assert_eq!(before, None, "duplicate series: {line}");
        }
    }
    read
}

fn parse_sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).expect("a separator follows the name");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name, true), "{name:?}");
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"").expect("a label has a value");
            assert!(is_name(key, false), "{key:?}");
            let (value, after) = parse_quoted(after);
            assert_eq!(labels.insert(key.to_owned(), value), None, "{line}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ').expect("a space precedes the value");
    let number = match number {
        "+Inf" => f64::INFINITY,
        number => number.parse().unwrap_or_else(|_| panic!("{line}")),
    };
    (name.to_owned(), labels, number)
}

fn parse_quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, escaped @ ('\\' | '"'))) => escaped,
                other => panic!("invalid escape sequence: {other:?}"),
            }),
            _ => value.push(character),
        }
    }
    panic!("the value has no closing quote: {text}");
}

fn is_name(name: &str, colon: bool) -> bool {
    let first = name.chars().next();
    first.is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_' || (colon && it == ':'))
}
