//! Renders differences as text for a terminal, with the impact in its own column so that color is not needed.

use std::fmt::Write;

use gpuc_syntax::diag::render::replace_control_chars;

use super::super::impact::Impact;
use super::super::report::{Change, Diff, Diffs, Status};
use super::live::live_sections;
use super::phrases::{affected_nodes, format_cause, format_count, format_field, format_subject};

/// The number of fields of a change that are printed without `--all`.
const MAX_FIELDS: usize = 5;

/// The column in which the description of a change begins.
const INDENT: usize = 26;

pub(super) fn render(diffs: &Diffs, all: bool) -> String {
    let mut text = String::new();
    let differ: Vec<&Diff> = diffs
        .clusters
        .iter()
        .filter(|diff| !diff.is_unchanged_and_built())
        .collect();
    for diff in &differ {
        append_cluster(&mut text, diff, &diffs.base, all);
        text.push('\n');
    }
    let same = diffs.clusters.len() - differ.len();
    if same > 0 && diffs.clusters.iter().any(|diff| diff.live.is_some()) {
        append_line(
            &mut text,
            format_args!(
                "no differences from {}\n",
                replace_control_chars(&diffs.base)
            ),
        );
    } else if same > 0 {
        append_line(
            &mut text,
            format_args!(
                "{} unchanged since {}\n",
                format_count(same, "cluster"),
                replace_control_chars(&diffs.base)
            ),
        );
    }
    text
}

fn append_cluster(text: &mut String, diff: &Diff, base: &str, all: bool) {
    let status = match diff.status {
        Status::Added => "a new cluster".to_owned(),
        Status::Removed => format!("removed since {}", replace_control_chars(base)),
        Status::Kept => match &diff.former_name {
            Some(name) => format!(
                "formerly {} in {}",
                replace_control_chars(name),
                replace_control_chars(base)
            ),
            None if diff.live.is_some() => {
                format!("compared with {}", replace_control_chars(base))
            }
            None => format!("since {}", replace_control_chars(base)),
        },
    };
    let worst = diff
        .worst
        .map_or_else(|| diff.no_impact_heading(), Impact::description);
    append_line(
        text,
        format_args!(
            "\x1b[1m{}\x1b[0m, {status}: {worst}\n",
            replace_control_chars(&diff.cluster)
        ),
    );
    if let Some(words) = diff.moved_summary() {
        append_line(text, format_args!("  {}\n", replace_control_chars(&words)));
    }
    append_unbuilt(text, diff, all);
    if diff.is_empty() {
        append_live(text, diff);
        return;
    }
    for cards in &diff.gpus {
        let (before, after) = (cards.before.to_text(), cards.after.to_text());
        append_line(
            text,
            format_args!(
                "  GPUs: {} {before} → {after}\n",
                replace_control_chars(&cards.model)
            ),
        );
    }
    if !diff.changes.is_empty() {
        text.push('\n');
    }
    for change in &diff.changes {
        let preposition = if diff.live.is_some() { "from" } else { "by" };
        append_change(text, change, preposition, all);
    }
    if !diff.upgrades.is_empty() {
        text.push_str("\n  Not caused by an edit of the input, but by:\n");
        for reason in &diff.upgraded {
            append_line(
                text,
                format_args!("    {}\n", replace_control_chars(reason)),
            );
        }
        text.push('\n');
        for change in &diff.upgrades {
            append_change(text, change, "by", all);
        }
    }
    if diff.live.is_some() {
        append_live(text, diff);
        return;
    }
    if let Some(words) = diff.files_only_summary() {
        append_line(text, format_args!("  {}\n", replace_control_chars(&words)));
        return;
    }
    let lines: usize = diff.files.iter().map(changed_line_count).sum();
    let files = format_count(diff.files.len(), "file");
    append_line(
        text,
        format_args!(
            "\n  {files} and {} of the tree differ\n",
            format_count(lines, "line")
        ),
    );
    if !diff.rollout.is_empty() {
        let steps = format_count(diff.rollout.len(), "step");
        append_line(
            text,
            format_args!("  The rollout takes {steps}: gpuc diff --plan\n"),
        );
    }
}

/// The notes of a comparison with a running cluster.
fn append_live(text: &mut String, diff: &Diff) {
    for section in live_sections(diff) {
        append_line(text, format_args!("\n  {}\n", section.title));
        for line in section.lines {
            append_line(text, format_args!("    {}\n", replace_control_chars(&line)));
        }
    }
}

/// Reports a tree on disk that does not match the input. Files edited by hand are listed; the rest of the output covers
/// unbuilt changes.
fn append_unbuilt(text: &mut String, diff: &Diff, all: bool) {
    let Some(words) = diff.unbuilt_summary() else {
        return;
    };
    append_line(text, format_args!("  {words}\n"));
    let named: Vec<_> = diff.unbuilt_files(all).collect();
    let shown = if all { named.len() } else { MAX_FIELDS };
    for file in named.iter().take(shown) {
        let (path, how) = (replace_control_chars(&file.path), file.cause_text());
        append_line(text, format_args!("    {path}: {how}\n"));
    }
    if named.len() > shown {
        let more = format_count(named.len() - shown, "more file");
        append_line(text, format_args!("    and {more}: --all shows them\n"));
    }
}

fn changed_line_count(file: &super::super::report::FileChange) -> usize {
    let hunks = file.hunks.iter();
    hunks
        .map(|hunk| hunk.added.len().max(hunk.removed.len()))
        .sum()
}

/// Appends a change. `preposition` precedes the locations in the input.
fn append_change(text: &mut String, change: &Change, preposition: &str, all: bool) {
    let name = change.impact.as_str();
    let color = color(change.impact);
    let subject = format_subject(change, replace_control_chars) + &affected_nodes(change);
    append_line(
        text,
        format_args!(
            "  \x1b[{color}m{name:<width$}\x1b[0m {subject}\n",
            width = INDENT - 3
        ),
    );
    let mut line = |words: &str| append_line(text, format_args!("{:INDENT$}{words}\n", ""));
    if change.names.len() > 1 {
        let shown = if all {
            change.names.len()
        } else {
            change.names.len().min(MAX_FIELDS)
        };
        let names: Vec<String> = change.names[..shown]
            .iter()
            .map(|name| replace_control_chars(name))
            .collect();
        let rest = change.names.len() - shown;
        let more = if rest > 0 {
            format!(" and {rest} more")
        } else {
            String::new()
        };
        line(&format!("{}{more}", names.join(", ")));
    }
    let shown = if all {
        change.fields.len()
    } else {
        change.fields.len().min(MAX_FIELDS)
    };
    for difference in &change.fields[..shown] {
        line(&format_field(difference, replace_control_chars));
    }
    if change.fields.len() > shown {
        line(&format!(
            "and {}: --all shows them",
            format_count(change.fields.len() - shown, "more field")
        ));
    }
    if let Some(reason) = &change.reason {
        line(&format!("\x1b[2m{}\x1b[0m", replace_control_chars(reason)));
    }
    let shown = if all {
        change.causes.len()
    } else {
        change.causes.len().min(MAX_FIELDS)
    };
    for made in &change.causes[..shown] {
        line(&format!(
            "\x1b[2m{preposition} {}\x1b[0m",
            format_cause(made, replace_control_chars)
        ));
    }
    if change.causes.len() > shown {
        line(&format!(
            "\x1b[2mand {}\x1b[0m",
            format_count(change.causes.len() - shown, "other edit")
        ));
    }
}

/// Red for disruption, yellow for changed access or services, green for additions.
fn color(impact: Impact) -> &'static str {
    match impact {
        _ if impact.is_disruptive() => "31",
        Impact::AccessChanged | Impact::ServiceRestarted => "33",
        Impact::CapacityGained | Impact::QuotaRaised | Impact::Added => "32",
        _ => "2",
    }
}

/// The rollout steps of each cluster.
pub(super) fn render_plan(diffs: &Diffs) -> String {
    let mut text = String::new();
    for diff in &diffs.clusters {
        let name = replace_control_chars(&diff.cluster);
        if diff.is_empty() {
            continue;
        }
        if diff.rollout.is_empty() {
            append_line(
                &mut text,
                format_args!("{name} needs no special steps. {}.\n", diff.no_order_text()),
            );
            continue;
        }
        append_line(
            &mut text,
            format_args!(
                "\x1b[1m{name}\x1b[0m: run the commands in {}, with kubectl connected to that cluster; run `gpuc \
                 build` where you ran gpuc diff\n",
                diff.folder_text()
            ),
        );
        for (number, step) in diff.rollout.iter().enumerate() {
            append_line(
                &mut text,
                format_args!(
                    "\n  {}. {}\n",
                    number + 1,
                    replace_control_chars(&step.instruction)
                ),
            );
            for command in &step.commands {
                append_line(
                    &mut text,
                    format_args!("     {}\n", replace_control_chars(command)),
                );
            }
        }
        text.push('\n');
    }
    text
}

fn append_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a String takes everything");
}
