//! Renders differences.

mod github;
mod live;
mod markdown;
mod phrases;
mod text;
mod values;

use super::report::Diffs;
pub use markdown::MAX_LENGTH;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for a terminal.
    Text {
        /// Whether to print every field.
        all: bool,
        /// Whether to print the rollout steps instead.
        plan: bool,
    },
    /// JSON.
    Json,
    /// A pull request comment.
    Markdown,
    /// The rollout steps as Markdown.
    Plan,
    /// Annotations for GitHub Actions.
    Github,
}

/// Renders differences. Text contains color codes, which the caller removes unless it writes to a terminal.
pub fn render(diffs: &Diffs, format: Format) -> String {
    match format {
        Format::Text { all, plan: false } => text::render(diffs, all),
        Format::Text { plan: true, .. } => text::render_plan(diffs),
        Format::Json => {
            let text = serde_json::to_string_pretty(diffs).expect("what differs is JSON");
            text + "\n"
        }
        Format::Markdown => markdown::render(diffs),
        Format::Plan => markdown::render_plan(diffs),
        Format::Github => github::render(diffs),
    }
}

/// The JSON Schema of the JSON format, committed as `schema/diff.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Diffs).to_value();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}
