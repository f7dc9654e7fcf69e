//! Renders explanations as Markdown for a comment.

use std::fmt::Write;

use gpuc_syntax::diag::render::{inline_code, table_cell};

use super::text::origin_text;
use super::{ExplanationReport, Location, ReasonReport, untried_note};

/// Renders an explanation as Markdown.
pub fn markdown(answer: &ExplanationReport) -> String {
    let mut text = format!(
        "**{}**",
        inline_code(&format!("{}/{}", answer.cluster, answer.file))
    );
    if let Some(path) = &answer.path {
        let _ = write!(text, " {}", inline_code(path));
    }
    let value = answer.value.as_ref().filter(|value| !value.is_empty());
    if let Some(value) = value.filter(|_| answer.parts.is_empty()) {
        let _ = write!(text, " is {}", inline_code(value));
    }
    text.push_str("\n\n");
    if answer.parts.is_empty() {
        if !answer.affected_by.is_empty() {
            text.push_str("| Input | Change | Effect |\n| --- | --- | --- |\n");
        }
        for mover in &answer.affected_by {
            let place = format_place(&mover.location);
            let (tried, then) = (table_cell(&mover.tried), table_cell(&mover.effect));
            let _ = writeln!(text, "| {place} | {tried} | {then} |");
        }
    } else {
        text.push_str("| Line | Value | Derived from |\n| --- | --- | --- |\n");
        for part in &answer.parts {
            let value = match &part.path {
                Some(path) => format!("{path}: {}", part.value),
                None => part.value.clone(),
            };
            let (value, from) = (inline_code(&value), table_cell(&origin_text(answer, part)));
            let _ = writeln!(text, "| {} | {value} | {from} |", part.first_line);
        }
    }
    if !answer.parts.is_empty() && !answer.affected_by.is_empty() {
        let places: Vec<_> = answer
            .affected_by
            .iter()
            .map(|mover| format_place(&mover.location))
            .collect();
        let _ = writeln!(text, "\nAll of it is affected by {}.", places.join(", "));
    }
    if !answer.reasons.is_empty() {
        text.push('\n');
        text.extend(answer.reasons.iter().map(format_reason));
    }
    if let Some(note) = untried_note(answer) {
        let _ = writeln!(text, "\nNote: {note}.");
    }
    text
}

fn format_reason(reason: &ReasonReport) -> String {
    let of = reason.scope.as_deref();
    let of = of.map(|of| format!(" ({of})")).unwrap_or_default();
    let mut text = format!(
        "- {}{of}: {}",
        reason.kind.as_str(),
        table_cell(&reason.text)
    );
    if !reason.inputs.is_empty() {
        let places: Vec<_> = reason.inputs.iter().map(format_place).collect();
        let _ = write!(text, " – {}", places.join(", "));
    }
    if let Some(source) = &reason.source {
        let _ = write!(text, " (source: {})", table_cell(source));
    }
    text + "\n"
}

fn format_place(place: &Location) -> String {
    let path = place.path.as_deref().unwrap_or_default();
    inline_code(format!("{}:{} {path}", place.file, place.line).trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::{ExplanationReport, Influence};
    use super::*;
    use crate::why::Kind;

    #[test]
    fn user_text_is_escaped() {
        let nasty = "<img src=x> @team ` | [a](https://b.example)";
        let place = Location {
            file: "gpu-cluster.yaml".to_owned(),
            line: 1,
            column: 1,
            path: Some(nasty.to_owned()),
            text: nasty.to_owned(),
        };
        let answer = ExplanationReport {
            version: 1,
            cluster: "a".to_owned(),
            file: "README.md".to_owned(),
            path: None,
            first_line: 1,
            last_line: 1,
            value: Some(nasty.to_owned()),
            affected_by: vec![Influence {
                location: place.clone(),
                tried: nasty.to_owned(),
                effect: nasty.to_owned(),
            }],
            reasons: vec![ReasonReport {
                kind: Kind::Rule,
                text: nasty.to_owned(),
                scope: None,
                source: Some("https://example.com/@a".to_owned()),
                inputs: vec![place],
            }],
            parts: Vec::new(),
            tried: 1,
            untried: 0,
        };
        let text = markdown(&answer);
        // Skips code spans between double backticks.
        let prose: Vec<_> = text.split("``").step_by(2).collect();
        let prose = prose.concat();
        for read in ["<img", "@team", " [a", " | [", "https://", "@a"] {
            assert!(!prose.contains(read), "{read}: {prose}");
        }
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let ends = line.replace("\\|", "").matches('|').count();
            assert_eq!(ends, 4, "{line}");
        }
    }
}
