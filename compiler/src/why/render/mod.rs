//! Answers as people and programs read them.

mod markdown;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, At, Cause, Index, Kind, Path, Reason};
use crate::shell::is_unseen;
use crate::source::{Sources, Span};

pub use markdown::markdown;
pub use text::text;

/// Why something is in a generated tree, as `gpuc why --format json` says it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Told {
    /// The version of this format.
    pub version: u32,
    /// The cluster.
    pub cluster: String,
    /// The generated file, by its path in the cluster's folder.
    pub file: String,
    /// The field that was asked about; absent for a line and for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The first line in the generated file of what was asked about.
    pub first_line: usize,
    /// The last line of it.
    pub last_line: usize,
    /// What stands there, in one short line; absent for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The parts of the input that move it: each was changed alone, and it changed or vanished.
    pub moved_by: Vec<Mover>,
    /// Why it is there, the nearest reason first.
    pub reasons: Vec<Because>,
    /// For a whole file: its parts, in order. Otherwise empty.
    pub parts: Vec<Part>,
    /// How many parts of the input were changed to find out.
    pub tried: usize,
    /// How many were not, because the input is large: something there may move it too.
    pub untried: usize,
}

/// A place in the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Place {
    /// The file, as it was named on the command line or as seen from there.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The field of the input: `nodePools[1].taints[0].key`. Absent for a place that is no value of the document, such
    /// as one in a base that the document overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is written there, in one short line.
    pub text: String,
}

/// A part of the input that moves what was asked about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mover {
    /// Where it stands.
    pub place: Place,
    /// What was changed, in words.
    pub tried: String,
    /// What became of it then, in words.
    pub then: String,
}

/// A reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Because {
    /// What kind of reason it is.
    pub kind: Kind,
    /// The reason in words.
    pub what: String,
    /// What it is a reason for, where that is more than what was asked about: `the object`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Where it stands: repository, path and revision, or URL and date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The places in the input that it follows from.
    pub inputs: Vec<Place>,
}

/// A part of a whole file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// The field; absent for lines of a file that has no fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its first line.
    pub first_line: usize,
    /// Its last line.
    pub last_line: usize,
    /// What stands there, in one short line.
    pub value: String,
    /// The places in the input that move it.
    pub moved_by: Vec<Place>,
    /// Why it is there, the nearest reason first.
    pub reasons: Vec<Because>,
}

/// The JSON Schema of an answer, as the text that is committed as `schema/why.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Told);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}

/// An answer with its places looked up.
pub fn tell(answer: &Answer, index: &Index<'_>, sources: &Sources, counts: (usize, usize)) -> Told {
    let look = Look {
        places: index.places(),
        sources,
    };
    let mover = |cause: &Cause| Mover {
        place: look.cause(cause),
        tried: cause.tried.clone(),
        then: cause.then.clone(),
    };
    let part = |row: &super::Row| Part {
        path: path(&row.at),
        first_line: row.lines.0,
        last_line: row.lines.1,
        value: row.value.clone(),
        moved_by: row.causes.iter().map(|cause| look.cause(cause)).collect(),
        reasons: row
            .reasons
            .iter()
            .map(|reason| look.because(reason))
            .collect(),
    };
    Told {
        version: 1,
        cluster: answer.cluster.clone(),
        file: answer.file.clone(),
        path: path(&answer.at),
        first_line: answer.lines.0,
        last_line: answer.lines.1,
        value: answer.value.clone(),
        moved_by: answer.causes.iter().map(mover).collect(),
        reasons: answer
            .reasons
            .iter()
            .map(|reason| look.because(reason))
            .collect(),
        parts: answer.rows.iter().map(part).collect(),
        tried: counts.0,
        untried: counts.1,
    }
}

fn path(at: &At) -> Option<String> {
    match at {
        At::Field(path) => Some(path.to_string()),
        At::Whole | At::Line(_) => None,
    }
}

/// What places are looked up in.
struct Look<'l> {
    places: BTreeMap<Span, Path>,
    sources: &'l Sources,
}

impl Look<'_> {
    fn cause(&self, cause: &Cause) -> Place {
        let path = Some(cause.leaf.path.to_string());
        let place = self.place(cause.leaf.span);
        let place = place.unwrap_or_else(|| unreachable!("what was changed was written"));
        Place { path, ..place }
    }

    fn because(&self, reason: &Reason) -> Because {
        let inputs = reason.inputs.iter().filter_map(|span| self.place(*span));
        Because {
            kind: reason.kind,
            what: reason.what.clone(),
            of: reason.of.map(str::to_owned),
            source: reason.source.clone(),
            inputs: inputs.collect(),
        }
    }

    fn place(&self, span: Span) -> Option<Place> {
        let (file, position) = self.sources.locate(span)?;
        Some(Place {
            file: file.to_owned(),
            line: position.line,
            column: position.column,
            path: self.places.get(&span).map(ToString::to_string),
            text: super::trial::short(self.sources.text(span)),
        })
    }
}

/// Text without what a terminal would take for more than text.
pub fn visible(text: &str) -> String {
    let shown = |c: char| if is_unseen(c) { '?' } else { c };
    text.chars().map(shown).collect()
}

/// Where something stands in the input, and what it is.
fn line(place: &Place) -> String {
    let at = format!("{}:{}:{}", place.file, place.line, place.column);
    let what = match (&place.path, place.text.as_str()) {
        (Some(path), "") => path.clone(),
        (Some(path), text) => format!("{path}: {text}"),
        (None, text) => text.to_owned(),
    };
    visible(&format!("{at}  {what}"))
}

/// What was not looked at, in words.
fn untried(told: &Told) -> Option<String> {
    let (tried, untried) = (told.tried, told.untried);
    (untried > 0).then(|| {
        format!(
            "only {tried} of the input's {} parts were changed to find out, the likeliest first: \
             the input is large",
            tried + untried
        )
    })
}
