//! The notes of a comparison with a running cluster, as sections of lines.

use super::super::live::CloudResult;
use super::super::report::Diff;
use super::phrases::format_count;

/// A section of the notes.
pub(super) struct Section {
    /// The title.
    pub(super) title: String,
    /// The lines, which can contain text of users.
    pub(super) lines: Vec<String>,
}

/// The number of names that are listed of those with the same note.
const MAX_NAMES: usize = 5;

/// The sections of the notes about a cluster.
pub(super) fn live_sections(diff: &Diff) -> Vec<Section> {
    let Some(notes) = &diff.live else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    let mut add = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let title = title.to_owned();
            sections.push(Section { title, lines });
        }
    };
    let rejected = notes.rejected.iter();
    let rejected = rejected.map(|it| format!("{}: {}", it.object, it.reason));
    add(
        "The API server rejects these objects, and a deployment stops there:",
        rejected.collect(),
    );
    let conflicts = notes.conflicts_by_object().into_iter();
    let conflicts = conflicts.map(|((object, manager), fields)| {
        format!("{object}: {} (manager {manager})", listed(&fields))
    });
    let title = match diff.tool {
        "" => {
            "Other field managers own fields with other values. install.sh stops there: remove the field from the \
             file, or take it over with `kubectl apply --server-side --force-conflicts`:"
                .to_owned()
        }
        tool => format!("Other field managers own fields with other values. {tool} takes them over:"),
    };
    add(&title, conflicts.collect());
    let missing = notes.missing_kinds.iter();
    let missing = missing.map(|it| {
        let objects = format_count(it.objects, "object");
        let source = match &it.installed_by {
            Some(release) => format!("the Helm release {release} installs its definition"),
            None => "no part of the tree installs its definition".to_owned(),
        };
        format!("{} ({}), {objects}: {source}", it.kind, it.api_version)
    });
    add("The cluster does not serve these kinds:", missing.collect());
    let skipped = notes.not_compared.iter();
    let skipped = skipped.map(|it| format!("{}: {}", listed(&it.names), it.reason));
    add("Not compared:", skipped.collect());
    if let Some(cloud) = &notes.cloud {
        let state = match cloud.result {
            CloudResult::Equal => "no differences",
            CloudResult::Differs => "differences",
            CloudResult::NotRun => "not compared",
            CloudResult::Failed => {
                "resources are missing or not ready, or the script could not read them"
            }
        };
        let title = format!("Cloud resources ({}): {state}", cloud.command);
        let lines = cloud.lines.clone();
        sections.push(Section { title, lines });
    }
    sections
}

/// The first names, and the number of the others.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    shown.join(", ") + &more
}
