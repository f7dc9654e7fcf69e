//! Findings as a table for a comment on a pull request.

use super::{find_location, inline_code, summary, table_cell};
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
    let place = match find_location(sources, found.primary.span) {
        Some(place) => inline_code(&format!("{}:{}", place.file, place.start.line)),
        None => String::new(),
    };
    let help = found.help.as_ref();
    let help = help.map_or_else(String::new, |help| {
        format!("<br>help: {}", table_cell(help))
    });
    format!(
        "| {} | {} {} | {} | {}{help} |\n",
        found.severity.as_str(),
        found.code.id,
        found.code.name,
        place,
        table_cell(&found.message)
    )
}
