//! Findings as a table for a comment on a pull request.

use super::location::find_location;
use super::summary::summary;
use super::{inline_code, table_cell};
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
    let location = match find_location(sources, found.primary.span) {
        Some(location) => inline_code(&format!("{}:{}", location.file, location.start.line)),
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
        location,
        table_cell(&found.message)
    )
}
