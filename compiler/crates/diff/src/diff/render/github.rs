//! Renders differences as GitHub Actions annotations at the input lines that cause them: one per edit, because GitHub
//! shows ten annotations of a step.

use std::collections::BTreeMap;

use gpuc_syntax::diag::render::{data, property, visible};

use super::super::report::{Cause, Change, Diff, Diffs};
use super::{count, field, subject};

pub(super) fn render(diffs: &Diffs) -> String {
    let mut made: BTreeMap<(Option<&Cause>, &str), Vec<&Change>> = BTreeMap::new();
    for diff in &diffs.clusters {
        for change in diff.changes.iter().chain(&diff.upgrades) {
            let places = change
                .causes
                .iter()
                .filter(|cause| cause.file.is_some() && !cause.in_base);
            let places: Vec<_> = places.map(Some).collect();
            let places = if places.is_empty() {
                vec![None]
            } else {
                places
            };
            for place in places {
                made.entry((place, &diff.cluster)).or_default().push(change);
            }
        }
    }
    let mut commands: Vec<_> = made.into_iter().collect();
    commands.sort_by_key(|(_, changes)| changes.iter().map(|change| change.impact).min());
    let commands = commands.iter();
    let changed = commands.map(|((place, cluster), changes)| command(*place, cluster, changes));
    let unbuilt = diffs.clusters.iter().filter_map(unbuilt);
    changed.chain(unbuilt).collect()
}

/// An annotation at the first file of a tree that does not match its input.
fn unbuilt(diff: &Diff) -> Option<String> {
    let words = diff.unbuilt_words()?;
    let first = diff.unbuilt.first()?;
    let paths: Vec<&str> = diff.unbuilt.iter().map(|file| file.path.as_str()).collect();
    let named = &paths[..paths.len().min(MOST)];
    Some(format!(
        "::warning file={},title={}::{}\n",
        property(&first.path),
        property(&format!(
            "{}: the tree does not match its input",
            diff.cluster
        )),
        data(&format!("{words}\n{}", named.join("\n")))
    ))
}

/// The maximum number of changes that an annotation lists.
const MOST: usize = 10;

fn command(place: Option<&Cause>, cluster: &str, changes: &[&Change]) -> String {
    let worst = changes[0].impact;
    let level = if worst.disrupts() {
        "warning"
    } else {
        "notice"
    };
    let mut properties = Vec::new();
    if let Some(Cause {
        file: Some(file),
        line: Some(line),
        ..
    }) = place
    {
        properties.push(format!("file={}", property(file)));
        properties.push(format!("line={line}"));
    }
    let title = format!("{cluster}: {}", worst.means());
    properties.push(format!("title={}", property(&title)));
    let mut lines: Vec<String> = Vec::new();
    for change in changes.iter().take(MOST) {
        let first = change.fields.first().map(|it| field(it, visible));
        let first = first.map(|first| format!(", {first}")).unwrap_or_default();
        lines.push(format!(
            "{}: {}{first}",
            change.impact.name(),
            subject(change, visible)
        ));
    }
    if changes.len() > MOST {
        lines.push(format!(
            "and {}",
            count(changes.len() - MOST, "more change")
        ));
    }
    format!(
        "::{level} {}::{}\n",
        properties.join(","),
        data(&lines.join("\n"))
    )
}
