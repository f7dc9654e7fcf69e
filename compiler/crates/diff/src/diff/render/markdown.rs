//! Renders differences as a pull request comment: a table with folded details, within the maximum length of a comment.

use std::collections::BTreeMap;

use gpuc_syntax::diag::render::{inline_code, replace_control_chars, table_cell};

use super::super::impact::Impact;
use super::super::report::{Change, Diff, Diffs, Status, Step};
use super::live::live_sections;
use super::phrases::{affected_nodes, format_cause, format_count, format_field, format_subject};

/// The maximum length of the output in characters. A GitHub comment may have 65,536 characters, by the error message of
/// its API: "Body is too long (maximum is 65536 characters)". GitLab allows a million.
pub const MAX_LENGTH: usize = 65_536 - INTEGRATION_RESERVE;

/// Length reserved for the integration that posts the comment: a marker to find it by, and findings above it.
const INTEGRATION_RESERVE: usize = 1_536;

/// Length reserved for the notes about omitted parts.
const OMISSION_RESERVE: usize = 2_000;

pub(super) fn render(diffs: &Diffs) -> String {
    let differ: Vec<&Diff> = diffs
        .clusters
        .iter()
        .filter(|diff| !diff.is_unchanged_and_built())
        .collect();
    if differ.is_empty() {
        return format!(
            "### gpuc: nothing differs from {}\n",
            inline_code(&diffs.base)
        );
    }
    let means = diffs.worst.map_or(
        "the inputs are unchanged, but a tree does not match its input",
        Impact::description,
    );
    let head = format!(
        "### gpuc: {means}\n\nCompared with {}.\n",
        inline_code(&diffs.base)
    );
    let share = (MAX_LENGTH - OMISSION_RESERVE - head.chars().count()) / differ.len().max(1);
    let mut text = head;
    let mut left_out = 0;
    for diff in differ {
        let section = render_cluster(diff, share.max(4_000));
        if text.chars().count() + section.chars().count() + OMISSION_RESERVE / 2 > MAX_LENGTH {
            left_out += 1;
        } else {
            text.push_str(&section);
        }
    }
    if left_out > 0 {
        text.push_str(&format!(
            "\n{} omitted: {} shows all of them.\n",
            format_count(left_out, "more changed cluster"),
            inline_code(&format!("gpuc diff --base {}", diffs.base))
        ));
    }
    text
}

/// A cluster in at most `room` characters: worst changes first, and omitted ones are counted.
fn render_cluster(diff: &Diff, room: usize) -> String {
    let mut text = render_head(diff);
    let changes: Vec<&Change> = diff.changes.iter().collect();
    let upgrades: Vec<&Change> = diff.upgrades.iter().collect();
    // Half for tables, the rest for folded details.
    append_table(&mut text, &changes, room / 2);
    if !upgrades.is_empty() {
        text.push_str("\nNot caused by an edit of the input, but by:\n");
        for reason in &diff.upgraded {
            text.push_str(&format!("- {}\n", table_cell(reason)));
        }
        let room = room / 2 + room / 10;
        append_table(&mut text, &upgrades, room);
    }
    append_live(&mut text, diff, room);
    append_rollout(&mut text, diff, room);
    append_flowchart(&mut text, diff, room);
    append_details(&mut text, &[changes, upgrades].concat(), room);
    text
}

fn render_head(diff: &Diff) -> String {
    let status = match diff.status {
        Status::Added => " (new)".to_owned(),
        Status::Removed => " (removed)".to_owned(),
        Status::Kept => {
            let formerly = diff.former_name.as_ref();
            formerly.map_or_else(String::new, |name| {
                format!(" (formerly {})", table_cell(name))
            })
        }
    };
    let worst = diff
        .worst
        .map_or_else(|| diff.no_impact_heading(), Impact::description);
    let mut text = format!("\n#### {}{status}: {worst}\n", table_cell(&diff.cluster));
    if let Some(words) = diff.moved_summary() {
        text.push_str(&format!("\n{}\n", table_cell(&words)));
    }
    if let Some(words) = diff.files_only_summary() {
        text.push_str(&format!("\n{}\n", table_cell(&words)));
    }
    if let Some(words) = diff.unbuilt_summary() {
        text.push_str(&format!("\n**{words}**\n\n"));
        let named: Vec<_> = diff.unbuilt_files(false).collect();
        for file in named.iter().take(MAX_FILES) {
            text.push_str(&format!(
                "- {}: {}\n",
                inline_code(&file.path),
                file.cause_text()
            ));
        }
        if named.len() > MAX_FILES {
            let more = named.len() - MAX_FILES;
            text.push_str(&format!("- and {}\n", format_count(more, "more file")));
        }
    }
    if !diff.gpus.is_empty() {
        text.push_str("\n| GPUs | before | after |\n| --- | --- | --- |\n");
        for cards in &diff.gpus {
            let (before, after) = (cards.before.to_text(), cards.after.to_text());
            text.push_str(&format!(
                "| {} | {before} | {after} |\n",
                table_cell(&cards.model)
            ));
        }
    }
    text
}

fn append_table(text: &mut String, changes: &[&Change], room: usize) {
    if changes.is_empty() {
        return;
    }
    text.push_str("\n| Impact | What | Why |\n| --- | --- | --- |\n");
    let mut left_out: BTreeMap<Impact, usize> = BTreeMap::new();
    for change in changes {
        let row = render_row(change);
        if left_out.is_empty() && text.chars().count() + row.chars().count() < room {
            text.push_str(&row);
        } else {
            *left_out.entry(change.impact).or_default() += 1;
        }
    }
    if !left_out.is_empty() {
        let counts = left_out.iter();
        let counts: Vec<String> = counts
            .map(|(impact, number)| format!("{number} {}", impact.as_str()))
            .collect();
        text.push_str(&format!("\nOmitted here: {}.\n", counts.join(", ")));
    }
}

/// The maximum number of listed files that do not match the input.
const MAX_FILES: usize = 10;

/// The maximum number of edits that a row lists.
const MAX_EDITS: usize = 3;

fn render_row(change: &Change) -> String {
    let mut effect = format_subject(change, inline_code) + &affected_nodes(change);
    for difference in change.fields.iter().take(1) {
        effect.push_str(&format!("<br>{}", format_field(difference, inline_code)));
    }
    if change.fields.len() > 1 {
        effect.push_str(&format!(
            " and {}",
            format_count(change.fields.len() - 1, "more field")
        ));
    }
    let causes = change
        .causes
        .iter()
        .take(MAX_EDITS)
        .map(|made| format_cause(made, inline_code));
    let mut causes_and_reasons: Vec<String> = causes.collect();
    if change.causes.len() > MAX_EDITS {
        causes_and_reasons.push(format!(
            "and {}",
            format_count(change.causes.len() - MAX_EDITS, "more edit")
        ));
    }
    if let Some(reason) = &change.reason {
        causes_and_reasons.push(table_cell(reason));
    }
    format!(
        "| {} | {effect} | {} |\n",
        impact_mark(change.impact),
        causes_and_reasons.join("<br>")
    )
}

/// The impact with a colored mark.
fn impact_mark(impact: Impact) -> String {
    let mark = match impact {
        _ if impact <= Impact::NodesRecreated => "🔴 ",
        _ if impact.is_disruptive() => "🟠 ",
        Impact::AccessChanged | Impact::ServiceRestarted => "🟡 ",
        Impact::CapacityGained | Impact::QuotaRaised | Impact::Added => "🟢 ",
        _ => "",
    };
    format!("{mark}{}", impact.as_str())
}

/// The notes of a comparison with a running cluster, as far as they fit.
fn append_live(text: &mut String, diff: &Diff, room: usize) {
    for section in live_sections(diff) {
        text.push_str(&format!("\n{}\n\n", table_cell(&section.title)));
        for (index, line) in section.lines.iter().enumerate() {
            let row = format!("- {}\n", table_cell(line));
            if text.chars().count() + row.chars().count() > room * 4 / 5 {
                let more = format_count(section.lines.len() - index, "more line");
                text.push_str(&format!("- and {more}\n"));
                break;
            }
            text.push_str(&row);
        }
    }
}

fn append_rollout(text: &mut String, diff: &Diff, room: usize) {
    if diff.rollout.is_empty() {
        return;
    }
    let steps = format!(
        "\n<details><summary>{}, in this order</summary>\n\n{}\n</details>\n",
        format_count(diff.rollout.len(), "step"),
        render_steps(diff)
    );
    if text.chars().count() + steps.chars().count() < room * 3 / 4 {
        text.push_str(&steps);
    } else {
        let number = format_count(diff.rollout.len(), "step");
        text.push_str(&format!(
            "\nThe rollout takes {number}: `gpuc diff --plan` prints them.\n"
        ));
    }
}

fn render_steps(diff: &Diff) -> String {
    let steps = diff.rollout.iter().enumerate();
    steps
        .map(|(number, one)| render_step(number + 1, one))
        .collect()
}

fn render_step(number: usize, step: &Step) -> String {
    let mut text = format!("{number}. {}\n", table_cell(&step.instruction));
    if !step.commands.is_empty() {
        let commands: Vec<String> = step
            .commands
            .iter()
            .map(|it| replace_control_chars(it))
            .collect();
        let commands = commands.join("\n   ");
        // A fence longer than any run of backticks in the commands.
        let fence = "`".repeat(3.max(longest_run(&commands) + 1));
        text.push_str(&format!("   {fence}sh\n   {commands}\n   {fence}\n"));
    }
    text
}

/// The rollout steps of each cluster, up to the maximum length; omitted steps are counted.
pub(super) fn render_plan(diffs: &Diffs) -> String {
    let mut text = format!(
        "### gpuc: rollout steps since {}\n",
        inline_code(&diffs.base)
    );
    let mut used = text.chars().count();
    let differ: Vec<&Diff> = diffs.clusters.iter().filter(|it| !it.is_empty()).collect();
    for (number, diff) in differ.iter().enumerate() {
        let mut head = format!("\n#### {}\n\n", table_cell(&diff.cluster));
        if !diff.rollout.is_empty() {
            head += &format!(
                "Run the commands in {}, with kubectl connected to this cluster. Run `gpuc build` in the current \
                 folder.\n\n",
                folder_code(diff)
            );
        }
        if used + head.chars().count() + OMISSION_RESERVE > MAX_LENGTH {
            text.push_str(&format!(
                "\n{} omitted: `gpuc diff --plan` shows all of them.\n",
                format_count(differ.len() - number, "more cluster")
            ));
            break;
        }
        // Unused length is available to the following clusters.
        let room = (MAX_LENGTH - OMISSION_RESERVE - used) / (differ.len() - number);
        let section = head + &steps_within(diff, room);
        used += section.chars().count();
        text.push_str(&section);
    }
    text
}

/// The folder of the cluster's tree, as code.
fn folder_code(diff: &Diff) -> String {
    if diff.folder.is_empty() {
        diff.folder_text()
    } else {
        inline_code(&diff.folder)
    }
}

/// The first steps in at most `room` characters, and the number of omitted ones.
fn steps_within(diff: &Diff, room: usize) -> String {
    if diff.rollout.is_empty() {
        return format!("Needs no special steps. {}.\n", diff.no_order_text());
    }
    let (mut text, mut used) = (String::new(), 0);
    for (index, one) in diff.rollout.iter().enumerate() {
        let one = render_step(index + 1, one);
        used += one.chars().count();
        if used > room {
            let more = format_count(diff.rollout.len() - index, "more step");
            text.push_str(&format!(
                "\n{more} omitted: `gpuc diff --plan` shows all of them.\n"
            ));
            break;
        }
        text.push_str(&one);
    }
    text
}

/// A flowchart of the cluster after the change, unless it exceeds the length.
fn append_flowchart(text: &mut String, diff: &Diff, room: usize) {
    let Some(drawn) = &diff.picture else {
        return;
    };
    let name = table_cell(&diff.cluster);
    let fence = "`".repeat(3.max(longest_run(drawn) + 1));
    let drawn = format!(
        "\n<details><summary>{name} after this change</summary>\n\n{fence}mermaid\n{}\n{fence}\n\n</details>\n",
        drawn.trim_end()
    );
    if text.chars().count() + drawn.chars().count() < room * 4 / 5 {
        text.push_str(&drawn);
    }
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

fn append_details(text: &mut String, changes: &[&Change], room: usize) {
    let mut folded = String::new();
    let mut left_out = 0;
    for change in changes
        .iter()
        .filter(|change| change.fields.len() > 1 || change.names.len() > 1)
    {
        let mut detail = format!(
            "\n**{}** {}\n",
            change.impact.as_str(),
            format_subject(change, inline_code)
        );
        if change.names.len() > 1 {
            let names: Vec<String> = change.names.iter().map(|name| inline_code(name)).collect();
            detail.push_str(&format!("\n{}\n", names.join(", ")));
        }
        if !change.fields.is_empty() {
            detail.push('\n');
        }
        for difference in &change.fields {
            detail.push_str(&format!("- {}\n", format_field(difference, inline_code)));
        }
        let full = text.chars().count() + folded.chars().count() + detail.chars().count() + 200;
        if left_out == 0 && full < room {
            folded.push_str(&detail);
        } else {
            left_out += 1;
        }
    }
    if folded.is_empty() && left_out == 0 {
        return;
    }
    text.push_str("\n<details><summary>All fields</summary>\n");
    text.push_str(&folded);
    if left_out > 0 {
        text.push_str(&format!(
            "\n{} omitted.\n",
            format_count(left_out, "more change")
        ));
    }
    text.push_str("\n</details>\n");
}
