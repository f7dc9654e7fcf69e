//! Findings as a table for a comment on a pull request.

use super::{place, summary};
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
        Some(place) => format!("`{}:{}`", place.file, place.start.line),
        None => String::new(),
    };
    let help = found.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!("<br>help: {}", cell(help)));
    format!(
        "| {} | {} {} | {} | {}{help} |\n",
        found.severity.word(),
        found.code.id,
        found.code.name,
        cell(&place),
        cell(&found.message)
    )
}

/// Text for a cell: one line, no cell ends and no HTML in it. Inside of backticks only the end of a cell means
/// anything.
pub(crate) fn cell(text: &str) -> String {
    let mut safe = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '`' => {
                quoted = !quoted;
                safe.push(c);
            }
            '|' => safe.push_str("\\|"),
            '\n' => safe.push_str(if quoted { " " } else { "<br>" }),
            '<' if !quoted => safe.push_str("&lt;"),
            _ => safe.push(super::visible_char(c)),
        }
    }
    safe
}
