//! Renders explanations as text for a terminal.

use std::fmt::Write;

use super::{Because, Part, Place, Told, place_line, strip_control_characters, untried_note};

/// Renders an explanation as text.
pub fn text(told: &Told) -> String {
    let mut text = strip_control_characters(&format_head(told)) + "\n";
    if told.parts.is_empty() {
        if let Some(value) = &told.value {
            let what = told.path.as_deref().map(|path| format!("{path}: "));
            let shown = strip_control_characters(&format!("{}{value}", what.unwrap_or_default()));
            let _ = writeln!(text, "  {shown}");
        }
        append_causes(told, "affected by", &mut text);
    } else {
        text.push('\n');
        for part in &told.parts {
            append_row(told, part, &mut text);
        }
        append_causes(told, "all of it affected by", &mut text);
    }
    if !told.reasons.is_empty() {
        text.push_str("\nreasons\n");
        for reason in &told.reasons {
            append_reason(reason, told.parts.is_empty(), &mut text);
        }
    }
    if let Some(note) = untried_note(told) {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

/// The file, and the lines in it.
fn format_head(told: &Told) -> String {
    let file = format!("{}/{}", told.cluster, told.file);
    match (told.parts.is_empty(), told.first_line, told.last_line) {
        (false, ..) => file,
        (true, first, last) if first == last => format!("{file}:{first}"),
        (true, first, last) => format!("{file}:{first}-{last}"),
    }
}

fn append_causes(told: &Told, title: &str, text: &mut String) {
    if told.moved_by.is_empty() {
        let none = match told.tried {
            _ if !told.parts.is_empty() => "",
            0 => "",
            _ => "\nno single change of the input affects it\n",
        };
        text.push_str(none);
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for mover in &told.moved_by {
        let proof = strip_control_characters(&format!("{}, {}", mover.tried, mover.then));
        let _ = writeln!(text, "  {}\n      {proof}", place_line(&mover.place));
    }
}

fn append_reason(reason: &Because, with_inputs: bool, text: &mut String) {
    let of = reason.of.as_deref();
    let of = of.map(|of| format!(" ({of})")).unwrap_or_default();
    let what = strip_control_characters(&reason.what);
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
fn is_shared(told: &Told, reason: &Because) -> bool {
    let has_reason = |part: &Part| part.reasons.iter().any(|other| other.what == reason.what);
    told.parts.iter().all(has_reason)
}

/// The maximum number of locations in a table row.
const MAX_PLACES: usize = 4;

fn append_row(told: &Told, part: &Part, text: &mut String) {
    let lines = match (part.first_line, part.last_line) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let what = match &part.path {
        Some(path) => format!("{path}: {}", part.value),
        None => part.value.clone(),
    };
    let _ = writeln!(text, "{lines:>9}  {}", strip_control_characters(&what));
    let from = origin_text(told, part);
    if !from.is_empty() {
        let _ = writeln!(text, "{:>11}{}", "", strip_control_characters(&from));
    }
}

/// The origin of a part, in one line: the inputs that affect it, or else its nearest reason, unless all parts share it.
pub(super) fn origin_text(told: &Told, part: &Part) -> String {
    let shown = |place: &Place| match &place.path {
        Some(path) => format!("{}:{} {path}", place.file, place.line),
        None => format!("{}:{}", place.file, place.line),
    };
    let places: Vec<_> = part.moved_by.iter().take(MAX_PLACES).map(shown).collect();
    match (part.moved_by.len(), part.reasons.first()) {
        (0, Some(reason)) if !is_shared(told, reason) => {
            format!("{}: {}", reason.kind.as_str(), reason.what)
        }
        (count, _) if count > MAX_PLACES => {
            format!("{} and {} more", places.join(", "), count - MAX_PLACES)
        }
        _ => places.join(", "),
    }
}
