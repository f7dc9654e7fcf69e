//! User text is inert in a comment: no HTML, no mentions, no links.

use gpuc_diff::diff::render::{Format, render};

use super::plan::example;
use super::{as_diffs, diff_of_texts};

const HOSTILE: &[&str] = &[
    "a` <img src=//evil/x.png> <details><summary>fine</summary>",
    "@everyone see https://evil.example or www.evil.example, [here](//evil) #1",
    "x\\| <script>alert(1)</script>",
    "`` ` ``` <b>",
    "one | two\n\n<!-- three -->",
    "![x](//evil/x.png)",
];

/// The text of a comment without code, parsed as GitHub's Markdown does: first into cells, then each cell into code and
/// text.
fn text_outside_code(comment: &str) -> String {
    let mut fence: Option<String> = None;
    let mut rest = String::new();
    for line in comment.lines() {
        let trimmed = line.trim_start();
        let ticks: String = trimmed.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if trimmed == *open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !trimmed[ticks.len()..].contains('`') => {
                fence = Some(ticks);
            }
            None if line.starts_with('|') => {
                for cell in cells(line) {
                    rest += &strip_code(&cell);
                    rest.push('|');
                }
            }
            None => rest += &strip_code(line),
        }
        rest.push('\n');
    }
    assert!(fence.is_none(), "a code fence is not closed: {comment}");
    rest
}

/// The cells of a row. A pipe ends a cell unless an odd number of backslashes precedes it.
fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let mut chars = row.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                if next != Some('|') {
                    cell.push('\\');
                }
                cell.extend(next);
            }
            '|' => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

fn strip_code(text: &str) -> String {
    let mut left = String::new();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        if chars[at] == '\\' {
            // The escaped character is literal.
            at += 2;
            continue;
        }
        let run = chars[at..].iter().take_while(|c| **c == '`').count();
        if run == 0 {
            left.push(chars[at]);
            at += 1;
            continue;
        }
        let mut close = at + run;
        let mut end = None;
        while close < chars.len() {
            let length = chars[close..].iter().take_while(|c| **c == '`').count();
            if length == run {
                end = Some(close + run);
                break;
            }
            close += length.max(1);
        }
        if let Some(end) = end {
            at = end;
        } else {
            left.extend(&chars[at..at + run]);
            at += run;
        }
    }
    left
}

/// Whether a comment contains only gpuc's own markup.
pub(super) fn check_safe(comment: &str) -> Result<(), String> {
    let left = text_outside_code(comment);
    let own_tags = ["<br>", "<details>", "</details>", "<summary>", "</summary>"];
    let mut plain = left.clone();
    for tag in own_tags {
        plain = plain.replace(tag, "");
    }
    let calls = |at: usize| plain[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric());
    for (at, c) in plain.char_indices() {
        let is_bad = match c {
            '<' => true,
            '@' => calls(at),
            '#' => calls(at) && !plain[..at].ends_with('&'),
            _ => false,
        };
        if is_bad {
            return Err(format!(
                "`{c}` at {}",
                &plain[at..(at + 30).min(plain.len())]
            ));
        }
    }
    for link in ["https://", "www.", "]("] {
        if plain.contains(link) {
            return Err(format!("`{link}` in {left}"));
        }
    }
    let folds = [
        left.matches("<details>").count(),
        left.matches("</details>").count(),
    ];
    if folds[0] != folds[1] {
        return Err(format!("{folds:?} unbalanced details in {left}"));
    }
    Ok(())
}

#[test]
fn user_text_is_escaped_in_comments() {
    let text = example("eks-teams");
    for hostile in HOSTILE {
        let quoted = serde_json::to_string(hostile).unwrap();
        let edits = [
            (
                "description: What customers wait for",
                format!("description: {quoted}"),
            ),
            (
                "  region: us-east-1\n",
                format!("  region: us-east-1\n    tags: {{{quoted}: x}}\n"),
            ),
            (
                "taints: [{",
                format!("labels: {{note: {quoted}}}\n    taints: [{{"),
            ),
        ];
        for (from, to) in edits {
            if !text.contains(from) {
                continue;
            }
            let after = text.replacen(from, &to, 1);
            if super::compile_versions(&text, &after).is_err() {
                continue;
            }
            for found in [diff_of_texts(&text, &after), diff_of_texts(&after, &text)] {
                let comment = render(&as_diffs(found), Format::Markdown);
                assert!(
                    check_safe(&comment) == Ok(()),
                    "{:?}\n{comment}",
                    check_safe(&comment)
                );
            }
        }
    }
}

#[test]
fn branch_names_are_escaped_in_comments() {
    let text = example("quickstart");
    for hostile in HOSTILE {
        let mut found = as_diffs(diff_of_texts(
            &text,
            &text.replace("replicas: 4", "replicas: 2"),
        ));
        (*hostile).clone_into(&mut found.base);
        found.clusters[0].upgraded = vec![(*hostile).to_owned()];
        found.clusters[0].upgrades = found.clusters[0].changes.clone();
        (*hostile).clone_into(&mut found.clusters[0].changes[0].causes[0].path);
        found.clusters[0].changes[0].causes[0].file = Some((*hostile).to_owned());
        found.clusters[0].changes[0].reason = Some((*hostile).to_owned());
        for format in [Format::Markdown, Format::Plan] {
            let comment = render(&found, format);
            assert!(
                check_safe(&comment) == Ok(()),
                "{:?}\n{comment}",
                check_safe(&comment)
            );
        }
    }
}

#[test]
fn unsafe_text_is_detected() {
    for bad in [
        "| a | `b` <img> |",
        "| `x\\\\| <img>` |",
        "see @somebody",
        "see https://evil.example",
        "[here](x)",
        "<details>",
    ] {
        assert!(check_safe(bad).is_err(), "{bad}");
    }
    assert_eq!(check_safe("| `@a <b> https://x` | a\\|b |<br>"), Ok(()));
}

#[test]
fn single_node_is_singular() {
    let text =
        example("quickstart").replace("nodes: {count: 2}, sharing", "nodes: {count: 1}, sharing");
    let found = as_diffs(diff_of_texts(
        &text,
        &text.replace("replicas: 4", "replicas: 2"),
    ));
    let comment = render(&found, Format::Markdown);
    assert!(comment.contains(", on 1 node<br>"), "{comment}");
}

#[test]
fn long_values_are_shown_where_they_differ() {
    let text = example("eks-queues");
    let after = text.replacen(
        "{profile: 1g.5gb, count: 4}",
        "{profile: 1g.5gb, count: 3}",
        1,
    );
    let found = diff_of_texts(&text, &after);
    let comment = render(&as_diffs(found), Format::Markdown);
    for line in comment.lines().filter(|line| line.contains(" → ")) {
        for pair in line.split("<br>").filter_map(|it| it.split_once("` → `")) {
            let from = pair.0.rsplit_once('`').map_or(pair.0, |(_, it)| it);
            let to = pair.1.split_once('`').map_or(pair.1, |(it, _)| it);
            assert_ne!(from, to, "{line}");
        }
    }
}
