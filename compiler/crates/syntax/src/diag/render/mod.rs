//! Output formats of findings.

pub mod escape;
mod fingerprint;
mod github;
mod gitlab;
mod json;
mod markdown;
mod sarif;
mod shorten;
mod text;

pub use escape::{inline_code, table_cell};
pub use github::{escape_data, escape_property};

use super::{Diagnostic, Severity};
use crate::source::{Position, Sources, Span};

/// An output format of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Human-readable text for a terminal.
    #[default]
    Text,
    /// One JSON object, for scripts.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// One GitHub Actions workflow command per finding.
    Github,
    /// A GitLab Code Quality report.
    Gitlab,
    /// A Markdown table, for comments.
    Markdown,
}

/// The capabilities of the output device.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether text can have colors.
    pub color: bool,
    /// The maximum number of characters of a source line.
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

/// Renders findings, sorted by file, location and code. Human-readable formats shorten long values in the middle; the
/// source excerpt shows the complete value. JSON, SARIF and the GitLab report are complete.
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
    let short: Vec<Diagnostic> = sorted.into_iter().map(shorten::shorten_finding).collect();
    let short: Vec<&Diagnostic> = short.iter().collect();
    match format {
        Format::Github => github::render(sources, &short),
        Format::Markdown => markdown::render(sources, &short),
        _ => text::render(sources, &short, options),
    }
}

/// The number of findings: `3 errors, 1 warning`.
fn summary(diagnostics: &[&Diagnostic]) -> String {
    let counted = |severity: Severity| {
        let count = diagnostics
            .iter()
            .filter(|found| found.severity == severity);
        match count.count() {
            0 => None,
            1 => Some(format!("1 {}", severity.as_str())),
            count => Some(format!("{count} {}s", severity.as_str())),
        }
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning]
        .into_iter()
        .filter_map(counted)
        .collect();
    counts.join(", ")
}

/// A location for output.
struct Location<'s> {
    file: &'s str,
    start: Position,
    end: Position,
}

/// The location of a span; `None` for values that are not in a file.
fn find_location(sources: &Sources, span: Span) -> Option<Location<'_>> {
    let source = sources.get(span.source)?;
    Some(Location {
        file: source.path(),
        start: source.position(span.start),
        end: source.position(span.end),
    })
}

/// A location for formats that require one: the start of the first file for values that are not in a file.
fn find_location_or_first(sources: &Sources, span: Span) -> Option<Location<'_>> {
    find_location(sources, span).or_else(|| {
        let first = sources.iter().next()?;
        let head = first.position(0);
        Some(Location {
            file: first.path(),
            start: head,
            end: head,
        })
    })
}

/// A path as used by a repository host: without `.`, and without resolvable `..`.
fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        let has_parent = parts.last().is_some_and(|last| !["", ".."].contains(last));
        match part {
            "." => {}
            ".." if has_parent => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Text without control characters, which could change the display of other text.
pub fn replace_control_chars(text: &str) -> String {
    text.chars().map(replace_control_char).collect()
}

/// A visible character. Unicode has pictures for control characters, but not for bidirectional controls.
fn replace_control_char(c: char) -> char {
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
