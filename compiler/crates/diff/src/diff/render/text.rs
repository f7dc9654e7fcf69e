//! Renders differences as text for a terminal, with the impact in its own column so that colour is not needed.

use std::fmt::Write;

use gpuc_syntax::diag::render::visible;

use super::super::impact::Impact;
use super::super::report::{Change, ClusterFate, Diff, Diffs};
use super::{cause, count, field, on_nodes, subject};

/// The number of fields of a change that are printed without `--all`.
const FEW: usize = 5;

/// The column in which the description of a change begins.
const INDENT: usize = 23;

pub(super) fn render(diffs: &Diffs, all: bool) -> String {
    let mut text = String::new();
    let differ: Vec<&Diff> = diffs
        .clusters
        .iter()
        .filter(|diff| !diff.is_silent())
        .collect();
    for diff in &differ {
        cluster(&mut text, diff, &diffs.base, all);
        text.push('\n');
    }
    let same = diffs.clusters.len() - differ.len();
    if same > 0 {
        put(
            &mut text,
            format_args!(
                "{} unchanged since {}\n",
                count(same, "cluster"),
                visible(&diffs.base)
            ),
        );
    }
    text
}

fn cluster(text: &mut String, diff: &Diff, base: &str, all: bool) {
    let fate = match diff.fate {
        ClusterFate::Added => "a new cluster".to_owned(),
        ClusterFate::Removed => format!("removed since {}", visible(base)),
        ClusterFate::Kept => match &diff.formerly {
            Some(name) => format!("formerly {} in {}", visible(name), visible(base)),
            None => format!("since {}", visible(base)),
        },
    };
    let worst = diff
        .worst
        .map_or_else(|| diff.means_nothing(), Impact::means);
    put(
        text,
        format_args!(
            "\x1b[1m{}\x1b[0m, {fate}: {worst}\n",
            visible(&diff.cluster)
        ),
    );
    if let Some(words) = diff.moved_words() {
        put(text, format_args!("  {}\n", visible(&words)));
    }
    unbuilt(text, diff, all);
    if diff.is_empty() {
        return;
    }
    for cards in &diff.gpus {
        let (before, after) = (cards.before.words(), cards.after.words());
        put(
            text,
            format_args!("  GPUs: {} {before} → {after}\n", visible(&cards.model)),
        );
    }
    if !diff.changes.is_empty() {
        text.push('\n');
    }
    for change in &diff.changes {
        one(text, change, all);
    }
    if !diff.upgrades.is_empty() {
        text.push_str("\n  Not caused by an edit of the input, but by:\n");
        for because in &diff.upgraded {
            put(text, format_args!("    {}\n", visible(because)));
        }
        text.push('\n');
        for change in &diff.upgrades {
            one(text, change, all);
        }
    }
    if let Some(words) = diff.quiet_words() {
        put(text, format_args!("  {}\n", visible(&words)));
        return;
    }
    let lines: usize = diff.files.iter().map(lines_of).sum();
    let files = count(diff.files.len(), "file");
    put(
        text,
        format_args!(
            "\n  {files} and {} of the tree differ\n",
            count(lines, "line")
        ),
    );
    if !diff.rollout.is_empty() {
        let steps = count(diff.rollout.len(), "step");
        put(
            text,
            format_args!("  The rollout takes {steps}: gpuc diff --plan\n"),
        );
    }
}

/// Reports a tree on disk that does not match the input. Files edited by hand are listed; the rest of the output covers
/// unbuilt changes.
fn unbuilt(text: &mut String, diff: &Diff, all: bool) {
    let Some(words) = diff.unbuilt_words() else {
        return;
    };
    put(text, format_args!("  {words}\n"));
    let named: Vec<_> = diff.unbuilt_files(all).collect();
    let shown = if all { named.len() } else { FEW };
    for file in named.iter().take(shown) {
        let (path, how) = (visible(&file.path), file.how());
        put(text, format_args!("    {path}: {how}\n"));
    }
    if named.len() > shown {
        let more = count(named.len() - shown, "more file");
        put(text, format_args!("    and {more}: --all shows them\n"));
    }
}

fn lines_of(file: &super::super::report::FileChange) -> usize {
    let hunks = file.hunks.iter();
    hunks
        .map(|hunk| hunk.added.len().max(hunk.removed.len()))
        .sum()
}

fn one(text: &mut String, change: &Change, all: bool) {
    let name = change.impact.name();
    let color = color(change.impact);
    let subject = subject(change, visible) + &on_nodes(change);
    put(
        text,
        format_args!(
            "  \x1b[{color}m{name:<width$}\x1b[0m {subject}\n",
            width = INDENT - 3
        ),
    );
    let mut line = |words: &str| put(text, format_args!("{:INDENT$}{words}\n", ""));
    if change.names.len() > 1 {
        let shown = if all {
            change.names.len()
        } else {
            change.names.len().min(FEW)
        };
        let names: Vec<String> = change.names[..shown]
            .iter()
            .map(|name| visible(name))
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
        change.fields.len().min(FEW)
    };
    for difference in &change.fields[..shown] {
        line(&field(difference, visible));
    }
    if change.fields.len() > shown {
        line(&format!(
            "and {}: --all shows them",
            count(change.fields.len() - shown, "more field")
        ));
    }
    if let Some(because) = &change.because {
        line(&format!("\x1b[2m{}\x1b[0m", visible(because)));
    }
    let shown = if all {
        change.causes.len()
    } else {
        change.causes.len().min(FEW)
    };
    for made in &change.causes[..shown] {
        line(&format!("\x1b[2mby {}\x1b[0m", cause(made, visible)));
    }
    if change.causes.len() > shown {
        line(&format!(
            "\x1b[2mand {}\x1b[0m",
            count(change.causes.len() - shown, "other edit")
        ));
    }
}

/// Red for disruption, yellow for changed access or services, green for additions.
fn color(impact: Impact) -> &'static str {
    match impact {
        _ if impact.disrupts() => "31",
        Impact::AccessChanged | Impact::ServiceRestarted => "33",
        Impact::CapacityGained | Impact::QuotaRaised | Impact::Added => "32",
        _ => "2",
    }
}

/// The rollout steps of each cluster.
pub(super) fn plan(diffs: &Diffs) -> String {
    let mut text = String::new();
    for diff in &diffs.clusters {
        let name = visible(&diff.cluster);
        if diff.is_empty() {
            continue;
        }
        if diff.rollout.is_empty() {
            put(&mut text, format_args!("{name}: {}\n", diff.unordered()));
            continue;
        }
        put(
            &mut text,
            format_args!(
                "\x1b[1m{name}\x1b[0m: run the commands from its directory in the tree, with kubectl connected to that \
                 cluster; run `gpuc build` from the current directory\n"
            ),
        );
        for (number, step) in diff.rollout.iter().enumerate() {
            put(
                &mut text,
                format_args!("\n  {}. {}\n", number + 1, visible(&step.what)),
            );
            for command in &step.commands {
                put(&mut text, format_args!("     {}\n", visible(command)));
            }
        }
        text.push('\n');
    }
    text
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a String takes everything");
}
