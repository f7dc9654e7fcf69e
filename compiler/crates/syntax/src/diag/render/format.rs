//! The output formats, and the choice of one.

use super::super::Diagnostic;
use super::options::Options;
use super::{github, gitlab, json, markdown, sarif, shorten, text};
use crate::source::Sources;

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
