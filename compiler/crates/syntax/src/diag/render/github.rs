//! Findings as workflow commands of GitHub Actions, which shows them next to the changed lines.

use super::location::{find_location, normalize_path};
use crate::diag::Diagnostic;
use crate::source::Sources;

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics
        .iter()
        .map(|found| render_command(sources, found))
        .collect();
    lines.concat()
}

fn render_command(sources: &Sources, found: &Diagnostic) -> String {
    let mut properties = Vec::new();
    if let Some(location) = find_location(sources, found.primary.span) {
        properties.push(format!(
            "file={}",
            escape_property(&normalize_path(location.file))
        ));
        properties.push(format!("line={}", location.start.line));
        properties.push(format!("col={}", location.start.column));
        properties.push(format!("endLine={}", location.end.line));
        // GitHub rejects columns on a range of several lines.
        if location.end.line == location.start.line {
            properties.push(format!("endColumn={}", location.end.column));
        } else {
            properties.remove(2);
        }
    }
    let title = format!("{} {}", found.code.id, found.code.name);
    properties.push(format!("title={}", escape_property(&title)));
    let mut message = found.message.clone();
    if let Some(help) = &found.help {
        message.push_str("\nhelp: ");
        message.push_str(help);
    }
    let word = found.severity.as_str();
    format!(
        "::{word} {}::{}\n",
        properties.join(","),
        escape_data(&message)
    )
}

/// As <https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts> writes a message.
pub fn escape_data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// As the same file writes a property.
pub fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
