//! Renders differences as GitHub Actions annotations at the input lines that cause them: one per edit, because GitHub
//! shows ten annotations of a step.

use std::collections::BTreeMap;

use gpuc_syntax::diag::render::{escape_data, escape_property, replace_control_chars};

use super::super::report::{Cause, Change, Diff, Diffs};
use super::phrases::{format_count, format_field, format_subject};

pub(super) fn render(diffs: &Diffs) -> String {
    let mut made: BTreeMap<(Option<&Cause>, &str), Vec<&Change>> = BTreeMap::new();
    for diff in &diffs.clusters {
        for change in diff.changes.iter().chain(&diff.upgrades) {
            let causes = change
                .causes
                .iter()
                .filter(|cause| cause.file.is_some() && !cause.in_base);
            let causes: Vec<_> = causes.map(Some).collect();
            let causes = if causes.is_empty() {
                vec![None]
            } else {
                causes
            };
            for cause in causes {
                made.entry((cause, &diff.cluster)).or_default().push(change);
            }
        }
    }
    let mut commands: Vec<_> = made.into_iter().collect();
    commands.sort_by_key(|(_, changes)| changes.iter().map(|change| change.impact).min());
    let commands = commands.iter();
    let changed = commands.map(|((cause, cluster), changes)| annotation(*cause, cluster, changes));
    let unbuilt = diffs.clusters.iter().filter_map(unbuilt_annotation);
    changed.chain(unbuilt).collect()
}

/// An annotation at the first file of a tree that does not match its input.
fn unbuilt_annotation(diff: &Diff) -> Option<String> {
    let words = diff.unbuilt_summary()?;
    let first = diff.unbuilt.first()?;
    let paths: Vec<&str> = diff.unbuilt.iter().map(|file| file.path.as_str()).collect();
    let named = &paths[..paths.len().min(MAX_CHANGES)];
    Some(format!(
        "::warning file={},title={}::{}\n",
        escape_property(&first.path),
        escape_property(&format!(
            "{}: the tree does not match its input",
            diff.cluster
        )),
        escape_data(&format!("{words}\n{}", named.join("\n")))
    ))
}

/// The maximum number of changes that an annotation lists.
const MAX_CHANGES: usize = 10;

fn annotation(cause: Option<&Cause>, cluster: &str, changes: &[&Change]) -> String {
    let worst = changes[0].impact;
    let level = if worst.is_disruptive() {
        "warning"
    } else {
        "notice"
    };
    let mut properties = Vec::new();
    if let Some(Cause {
        file: Some(file),
        line: Some(line),
        ..
    }) = cause
    {
        properties.push(format!("file={}", escape_property(file)));
        properties.push(format!("line={line}"));
    }
    let title = format!("{cluster}: {}", worst.description());
    properties.push(format!("title={}", escape_property(&title)));
    let mut lines: Vec<String> = Vec::new();
    for change in changes.iter().take(MAX_CHANGES) {
        let first = change
            .fields
            .first()
            .map(|it| format_field(it, replace_control_chars));
        let first = first.map(|first| format!(", {first}")).unwrap_or_default();
        lines.push(format!(
            "{}: {}{first}",
            change.impact.as_str(),
            format_subject(change, replace_control_chars)
        ));
    }
    if changes.len() > MAX_CHANGES {
        lines.push(format!(
            "and {}",
            format_count(changes.len() - MAX_CHANGES, "more change")
        ));
    }
    format!(
        "::{level} {}::{}\n",
        properties.join(","),
        escape_data(&lines.join("\n"))
    )
}
