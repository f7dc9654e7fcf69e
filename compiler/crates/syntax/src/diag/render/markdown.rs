//! Findings as a table for a comment on a pull request.

use super::{cell, code, place, summary};
use crate::diag::Diagnostic;
use crate::source::Sources;

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic]) -> String {
    if diagnostics.is_empty() {
        return "No findings.\n".to_owned();
    }
    let mut text = format!(
        "**{}**\n\n| Severity | Code | Place | Finding |\n| --- | --- | --- | --- |\n",
        summary(diagnostics)
    );
    for found in diagnostics {
        text.push_str(&row(sources, found));
    }
    text
}

fn row(sources: &Sources, found: &Diagnostic) -> String {
    let place = match place(sources, found.primary.span) {
        Some(place) => code(&format!("{}:{}", place.file, place.start.line)),
        None => String::new(),
    };
    let help = found.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!("<br>help: {}", cell(help)));
    format!(
        "| {} | {} {} | {} | {}{help} |\n",
        found.severity.as_str(),
        found.code.id,
        found.code.name,
        place,
        cell(&found.message)
    )
}
