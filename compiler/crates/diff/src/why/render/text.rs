//! Renders explanations as text for a terminal.

use std::fmt::Write;

use super::{
    ExplanationReport, Location, Part, ReasonReport, place_line, strip_control_characters,
    untried_note,
};

/// Renders an explanation as text.
pub fn text(answer: &ExplanationReport) -> String {
    let mut text = strip_control_characters(&format_head(answer)) + "\n";
    if answer.parts.is_empty() {
        if let Some(value) = &answer.value {
            let prefix = answer.path.as_deref().map(|path| format!("{path}: "));
            let shown = strip_control_characters(&format!("{}{value}", prefix.unwrap_or_default()));
            let _ = writeln!(text, "  {shown}");
        }
        append_causes(answer, "affected by", &mut text);
    } else {
        text.push('\n');
        for part in &answer.parts {
            append_row(answer, part, &mut text);
        }
        append_causes(answer, "the whole file is affected by", &mut text);
    }
    if !answer.reasons.is_empty() {
        text.push_str("\nreasons\n");
        for reason in &answer.reasons {
            append_reason(reason, answer.parts.is_empty(), &mut text);
        }
    }
    if let Some(note) = untried_note(answer) {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

/// The file, and the lines in it.
fn format_head(answer: &ExplanationReport) -> String {
    let file = format!("{}/{}", answer.cluster, answer.file);
    match (answer.parts.is_empty(), answer.first_line, answer.last_line) {
        (false, ..) => file,
        (true, first, last) if first == last => format!("{file}:{first}"),
        (true, first, last) => format!("{file}:{first}-{last}"),
    }
}

fn append_causes(answer: &ExplanationReport, title: &str, text: &mut String) {
    if answer.affected_by.is_empty() {
        let none = match answer.tried {
            _ if !answer.parts.is_empty() => "",
            0 => "",
            _ => "\nno single change of the input affects it\n",
        };
        text.push_str(none);
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for mover in &answer.affected_by {
        let proof = strip_control_characters(&format!("{}, {}", mover.tried, mover.effect));
        let _ = writeln!(text, "  {}\n      {proof}", place_line(&mover.location));
    }
}

fn append_reason(reason: &ReasonReport, with_inputs: bool, text: &mut String) {
    let of = reason.scope.as_deref();
    let of = of.map(|of| format!(" ({of})")).unwrap_or_default();
    let what = strip_control_characters(&reason.text);
    let _ = writeln!(text, "  {}{of}: {what}", reason.kind.as_str());
    if with_inputs {
        for place in &reason.inputs {
            let _ = writeln!(text, "      {}", place_line(place));
        }
    }
    if let Some(source) = &reason.source {
        let _ = writeln!(text, "      source: {}", strip_control_characters(source));
    }
}

/// Whether every part has that reason.
fn is_shared(answer: &ExplanationReport, reason: &ReasonReport) -> bool {
    let has_reason = |part: &Part| part.reasons.iter().any(|other| other.text == reason.text);
    answer.parts.iter().all(has_reason)
}

/// The maximum number of locations in a table row.
const MAX_PLACES: usize = 4;

fn append_row(answer: &ExplanationReport, part: &Part, text: &mut String) {
    let lines = match (part.first_line, part.last_line) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let line = match &part.path {
        Some(path) => format!("{path}: {}", part.value),
        None => part.value.clone(),
    };
    let _ = writeln!(text, "{lines:>9}  {}", strip_control_characters(&line));
    let from = origin_text(answer, part);
    if !from.is_empty() {
        let _ = writeln!(text, "{:>11}{}", "", strip_control_characters(&from));
    }
}

/// The origin of a part, in one line: the inputs that affect it, or else its nearest reason, unless all parts share it.
pub(super) fn origin_text(answer: &ExplanationReport, part: &Part) -> String {
    let format_place = |place: &Location| match &place.path {
        Some(path) => format!("{}:{} {path}", place.file, place.line),
        None => format!("{}:{}", place.file, place.line),
    };
    let places: Vec<_> = part
        .affected_by
        .iter()
        .take(MAX_PLACES)
        .map(format_place)
        .collect();
    match (part.affected_by.len(), part.reasons.first()) {
        (0, Some(reason)) if !is_shared(answer, reason) => {
            format!("{}: {}", reason.kind.as_str(), reason.text)
        }
        (count, _) if count > MAX_PLACES => {
            format!("{} and {} more", places.join(", "), count - MAX_PLACES)
        }
        _ => places.join(", "),
    }
}
