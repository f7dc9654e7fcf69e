//! Findings as people and machines read them.

mod cell;
mod fingerprint;
mod github;
mod gitlab;
mod json;
mod markdown;
mod sarif;
mod short;
mod text;

pub(crate) use cell::{cell, code};
pub(crate) use github::{data, property};

use super::{Diagnostic, Severity};
use crate::source::{Position, Sources, Span};

/// How findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people at a terminal.
    #[default]
    Text,
    /// For scripts: one JSON object.
    Json,
    /// For code scanning: SARIF 2.1.0.
    Sarif,
    /// For GitHub Actions: one workflow command a finding.
    Github,
    /// For GitLab: a Code Quality report.
    Gitlab,
    /// For comments: a table.
    Markdown,
}

/// What the reader's end can show.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether text may be coloured.
    pub color: bool,
    /// How many characters of a source line are shown.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            color: false,
            width: 120,
        }
    }
}

/// Writes findings, sorted by file, place and code.
///
/// What people read has long values shortened in the middle: their ends tell them apart, and the place shows the rest.
/// JSON, SARIF and the report for GitLab have every word.
pub fn render(
    format: Format,
    sources: &Sources,
    diagnostics: &[Diagnostic],
    options: Options,
) -> String {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|found| (found.primary.span, found.code.id));
    match format {
        Format::Json => return json::render(sources, &sorted),
        Format::Sarif => return sarif::render(sources, &sorted),
        Format::Gitlab => return gitlab::render(sources, &sorted),
        Format::Text | Format::Github | Format::Markdown => {}
    }
    let short: Vec<Diagnostic> = sorted.into_iter().map(short::finding).collect();
    let short: Vec<&Diagnostic> = short.iter().collect();
    match format {
        Format::Github => github::render(sources, &short),
        Format::Markdown => markdown::render(sources, &short),
        _ => text::render(sources, &short, options),
    }
}

/// How many findings there are: `3 errors, 1 warning`.
fn summary(diagnostics: &[&Diagnostic]) -> String {
    let counted = |severity: Severity| {
        let count = diagnostics
            .iter()
            .filter(|found| found.severity == severity);
        match count.count() {
            0 => None,
            1 => Some(format!("1 {}", severity.word())),
            count => Some(format!("{count} {}s", severity.word())),
        }
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning]
        .into_iter()
        .filter_map(counted)
        .collect();
    counts.join(", ")
}

/// A place for people and machines.
struct Place<'s> {
    file: &'s str,
    start: Position,
    end: Position,
}

/// Where a span stands; `None` for what nobody wrote.
fn place(sources: &Sources, span: Span) -> Option<Place<'_>> {
    let source = sources.get(span.source)?;
    Some(Place {
        file: source.path(),
        start: source.position(span.start),
        end: source.position(span.end),
    })
}

/// A place for those who show nothing that has none: of what nobody wrote, the head of the first file.
fn place_to_show(sources: &Sources, span: Span) -> Option<Place<'_>> {
    place(sources, span).or_else(|| {
        let first = sources.iter().next()?;
        let head = first.position(0);
        Some(Place {
            file: first.path(),
            start: head,
            end: head,
        })
    })
}

/// A path as a repository's host knows it: without `.`, and without `..` wherever there is something to leave.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        let leaves = parts.last().is_some_and(|last| !["", ".."].contains(last));
        match part {
            "." => {}
            ".." if leaves => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Text without characters that would change how the rest is shown.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

/// A character that can be seen. Controls have pictures of their own in Unicode; those that turn the direction of
/// writing have none.
fn visible_char(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests;
