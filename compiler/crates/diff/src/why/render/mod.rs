//! Renders explanations.

mod markdown;
mod text;

use std::collections::BTreeMap;

use gpuc_syntax::shell::is_invisible;
use gpuc_syntax::source::{Sources, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Cause, Explanation, Index, Kind, Path, QueryTarget, Reason};

pub use markdown::markdown;
pub use text::text;

/// An explanation of a part of a generated tree, as printed by `gpuc why --format json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplanationReport {
    /// The version of this format.
    pub version: u32,
    /// The name of the cluster.
    pub cluster: String,
    /// The generated file, by its path in the cluster's directory.
    pub file: String,
    /// The queried field; absent for a line and for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The first line of the queried part in the generated file.
    pub first_line: usize,
    /// The last line of the queried part.
    pub last_line: usize,
    /// The value, in one short line; absent for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The inputs that affect it: each was changed alone, and the queried part changed or disappeared.
    pub affected_by: Vec<Influence>,
    /// The reasons, nearest first.
    pub reasons: Vec<ReasonReport>,
    /// The parts of a whole file, in order; empty otherwise.
    pub parts: Vec<Part>,
    /// The number of inputs that were changed to find out.
    pub tried: usize,
    /// The number of inputs that were not changed, because the input is large: they may affect it too.
    pub untried: usize,
}

/// A location in the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Location {
    /// The file, as on the command line or relative to the working directory.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The field of the input: `nodePools[1].taints[0].key`. Absent for a location that is not a value of the document,
    /// such as one in a base that the document overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The text at the location, in one short line.
    pub text: String,
}

/// An input that affects the queried part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Influence {
    /// The location of the input.
    pub location: Location,
    /// The change that was tried.
    pub tried: String,
    /// The effect on the queried part.
    pub effect: String,
}

/// A reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReasonReport {
    /// The kind of reason.
    pub kind: Kind,
    /// The reason.
    pub text: String,
    /// The scope of the reason, if larger than the queried part: `the object`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The source: repository, path and revision, or URL and date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The locations in the input that it is derived from.
    pub inputs: Vec<Location>,
}

/// A part of a whole file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// The field; absent for lines of a file without fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The first line.
    pub first_line: usize,
    /// The last line.
    pub last_line: usize,
    /// The value, in one short line.
    pub value: String,
    /// The locations of the inputs that affect it.
    pub affected_by: Vec<Location>,
    /// The reasons, nearest first.
    pub reasons: Vec<ReasonReport>,
}

/// The JSON Schema of an explanation, committed as `schema/why.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(ExplanationReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}

/// Resolves the locations of an explanation.
pub fn resolve(
    answer: &Explanation,
    index: &Index<'_>,
    sources: &Sources,
    counts: (usize, usize),
) -> ExplanationReport {
    let resolver = SpanResolver {
        places: index.paths_by_span(),
        sources,
    };
    let mover = |cause: &Cause| Influence {
        location: resolver.place_of_cause(cause),
        tried: cause.change.clone(),
        effect: cause.effect.clone(),
    };
    let part = |row: &super::ExplainedPart| Part {
        path: target_path(&row.target),
        first_line: row.lines.0,
        last_line: row.lines.1,
        value: row.value.clone(),
        affected_by: row
            .causes
            .iter()
            .map(|cause| resolver.place_of_cause(cause))
            .collect(),
        reasons: row
            .reasons
            .iter()
            .map(|reason| resolver.resolve_reason(reason))
            .collect(),
    };
    ExplanationReport {
        version: 1,
        cluster: answer.cluster.clone(),
        file: answer.file.clone(),
        path: target_path(&answer.target),
        first_line: answer.lines.0,
        last_line: answer.lines.1,
        value: answer.value.clone(),
        affected_by: answer.causes.iter().map(mover).collect(),
        reasons: answer
            .reasons
            .iter()
            .map(|reason| resolver.resolve_reason(reason))
            .collect(),
        parts: answer.parts.iter().map(part).collect(),
        tried: counts.0,
        untried: counts.1,
    }
}

fn target_path(at: &QueryTarget) -> Option<String> {
    match at {
        QueryTarget::Field(path) => Some(path.to_string()),
        QueryTarget::File | QueryTarget::Line(_) => None,
    }
}

/// Resolves locations of the input.
struct SpanResolver<'l> {
    places: BTreeMap<Span, Path>,
    sources: &'l Sources,
}

impl SpanResolver<'_> {
    fn place_of_cause(&self, cause: &Cause) -> Location {
        let path = Some(cause.leaf.path.to_string());
        let place = self.place(cause.leaf.span);
        let place = place.unwrap_or_else(|| unreachable!("every changed input has a location"));
        Location { path, ..place }
    }

    fn resolve_reason(&self, reason: &Reason) -> ReasonReport {
        let inputs = reason.inputs.iter().filter_map(|span| self.place(*span));
        ReasonReport {
            kind: reason.kind,
            text: reason.text.clone(),
            scope: reason.scope.map(str::to_owned),
            source: reason.source.clone(),
            inputs: inputs.collect(),
        }
    }

    fn place(&self, span: Span) -> Option<Location> {
        let (file, position) = self.sources.locate(span)?;
        Some(Location {
            file: file.to_owned(),
            line: position.line,
            column: position.column,
            path: self.places.get(&span).map(ToString::to_string),
            text: super::experiment::short_text(self.sources.text(span)),
        })
    }
}

/// Text without control characters.
pub fn strip_control_characters(text: &str) -> String {
    let shown = |c: char| if is_invisible(c) { '?' } else { c };
    text.chars().map(shown).collect()
}

/// A location in the input with its text.
fn place_line(place: &Location) -> String {
    let at = format!("{}:{}:{}", place.file, place.line, place.column);
    let description = match (&place.path, place.text.as_str()) {
        (Some(path), "") => path.clone(),
        (Some(path), text) => format!("{path}: {text}"),
        (None, text) => text.to_owned(),
    };
    strip_control_characters(&format!("{at}  {description}"))
}

/// The note about inputs that were not tried.
fn untried_note(answer: &ExplanationReport) -> Option<String> {
    let (tried, untried) = (answer.tried, answer.untried);
    (untried > 0).then(|| {
        format!(
            "the input is large: only the {tried} most likely of its {} parts were tried",
            tried + untried
        )
    })
}
