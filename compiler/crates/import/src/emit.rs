//! Writes the tree as YAML with comments.
//!
//! A list or mapping is on one line if it fits and has no comments in it; all others are blocks. A scalar is plain only
//! if every parser of YAML 1.1 and 1.2 reads it as the same text.

use std::fmt::Write;

use crate::tree::{Item, Value};

/// The maximum length of a line with a list or mapping in one line.
const MAX_LINE: usize = 110;

/// The maximum length of a line with a comment at its end.
const MAX_COMMENTED: usize = 120;

/// The keys of lists whose items are blocks: one line for each pool would be long.
const BLOCKS: &[&str] = &["nodePools", "teams", "cloud", "aws", "gcp", "azure"];

/// The document, ending in a line break.
pub(crate) fn to_yaml(heading: &[String], root: &Item) -> String {
    let mut text = String::new();
    for line in heading {
        write_comment(&mut text, 0, line);
    }
    write_block(&mut text, 0, root);
    text
}

/// A comment in lines of at most [`MAX_COMMENTED`] characters.
fn write_comment(text: &mut String, indent: usize, comment: &str) {
    let comment = printable(comment);
    let width = MAX_COMMENTED.saturating_sub(indent + 2).max(40);
    let mut line = String::new();
    for word in comment.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(text, "{:indent$}# {line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{:indent$}# {line}", "");
}

/// A text in which control characters and line breaks of every kind are replaced, so that it cannot end a comment.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if is_printable(c) { c } else { '\u{fffd}' })
        .collect()
}

/// Whether YAML permits a character in plain text and in comments, and no parser treats it as a line break.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn write_block(text: &mut String, indent: usize, item: &Item) {
    match &item.value {
        Value::Map(entries) => {
            for (key, item) in entries {
                write_notes(text, indent, item);
                write_entry(text, indent, key, item);
            }
        }
        Value::List(items) => {
            for item in items {
                write_notes(text, indent, item);
                write_item(text, indent, item);
            }
        }
        Value::Text(_) | Value::Plain(_) => {
            let _ = writeln!(text, "{:indent$}{}", "", flow(item));
        }
    }
}

fn write_notes(text: &mut String, indent: usize, item: &Item) {
    for note in &item.notes {
        write_comment(text, indent, note);
    }
}

fn write_entry(text: &mut String, indent: usize, key: &str, item: &Item) {
    let head = format!("{:indent$}{}:", "", scalar(key));
    let line = format!("{head} {}", flow(item));
    let is_inline = !item.children().any(Item::has_comments)
        && line.chars().count() <= MAX_LINE
        && (!BLOCKS.contains(&key) || item.children().next().is_none());
    if is_inline || is_leaf(item) {
        write_line(text, indent, &line, item);
    } else {
        write_line(text, indent, &head, item);
        write_block(text, indent + 2, item);
    }
}

/// An item of a list in block style.
fn write_item(text: &mut String, indent: usize, item: &Item) {
    let line = format!("{:indent$}- {}", "", flow(item));
    let is_inline = !item.children().any(Item::has_comments)
        && line.chars().count() <= MAX_LINE
        && !has_nested(item);
    if is_inline || is_leaf(item) {
        write_line(text, indent, &line, item);
        return;
    }
    // The first line of the block follows the dash.
    let mut block = String::new();
    if let Some(guess) = guess(item) {
        write_comment(&mut block, indent + 2, &guess);
    }
    write_block(&mut block, indent + 2, item);
    let mut lines = block
        .lines()
        .skip_while(|line| line.trim_start().starts_with('#'));
    for comment in block
        .lines()
        .take_while(|line| line.trim_start().starts_with('#'))
    {
        let _ = writeln!(text, "{:indent$}{}", "", comment.trim_start());
    }
    if let Some(first) = lines.next() {
        let _ = writeln!(text, "{:indent$}- {}", "", first.trim_start());
    }
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
}

/// Whether a mapping has more than one level: such an item is a block.
fn has_nested(item: &Item) -> bool {
    let nested = item
        .children()
        .filter(|child| child.children().next().is_some());
    nested.count() > 1
}

fn is_leaf(item: &Item) -> bool {
    item.children().next().is_none()
}

fn guess(item: &Item) -> Option<String> {
    let reason = item.evidence.as_ref()?.guess.as_ref()?;
    Some(format!("guessed: {reason}"))
}

/// A line, with the comment of a guess at its end or above it.
fn write_line(text: &mut String, indent: usize, line: &str, item: &Item) {
    let Some(guess) = guess(item) else {
        let _ = writeln!(text, "{line}");
        return;
    };
    let guess = printable(&guess);
    if line.chars().count() + guess.chars().count() + 3 <= MAX_COMMENTED {
        let _ = writeln!(text, "{line} # {guess}");
    } else {
        write_comment(text, indent, &guess);
        let _ = writeln!(text, "{line}");
    }
}

/// The value on one line.
fn flow(item: &Item) -> String {
    match &item.value {
        Value::Text(text) => scalar(text),
        Value::Plain(text) => text.clone(),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries = entries.iter();
            let entries: Vec<_> = entries
                .map(|(key, item)| format!("{}: {}", scalar(key), flow(item)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A text as a YAML scalar, which is the same in blocks and in flow style.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Whether a text needs no quotes: it contains only characters without a meaning in YAML, and no parser of YAML 1.1
/// reads it as a keyword or a number.
fn is_plain(text: &str) -> bool {
    const KEYWORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    // Such letters are in no number: `1g.5gb`, `64Gi`, `500m`.
    let is_amount = text.starts_with(|c: char| c.is_ascii_digit())
        && text.contains(['g', 'G', 'i', 'm', 'M', 'T']);
    (is_amount || text.starts_with(|c: char| c.is_ascii_alphabetic()))
        && !text.ends_with(' ')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./@+ ".contains(c))
        && !KEYWORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// A text in double quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if is_printable(c) => quoted.push(c),
            c if u32::from(c) <= 0xff => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(c));
            }
            c if u32::from(c) <= 0xffff => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::tree::Evidence;

    fn read(text: &str) -> Json {
        serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    fn item(value: &Json) -> Item {
        match value {
            Json::Array(items) => Item::list(items.iter().map(item)),
            Json::Object(entries) => Item::map(entries.iter().map(|(key, it)| (key, item(it)))),
            Json::String(text) => Item::text(text),
            Json::Number(number) => Item::number(number.as_i64().unwrap()),
            other => Item::bool(other == &Json::Bool(true)),
        }
    }

    #[test]
    fn hostile_texts_are_read_back() {
        let hostile = [
            "",
            " ",
            "no",
            "Yes",
            "null",
            "~",
            "1.30",
            "0755",
            "1e3",
            "a: b",
            "- a",
            "# a",
            "a # b",
            "\"",
            "\\",
            "'",
            "\n",
            "a\nb: c",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "\u{0}",
            "{",
            "[a]",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`",
            "${HOME}",
            "{{ .Values }}",
            "=",
            "<<",
            "2026-01-01",
            "12:30",
            ".5",
            "a\tb",
            "1g.5gb+me",
            "1_000",
            "0x1F",
            "a ",
            " a",
            "1 m",
            "\u{7f}",
            "\u{10ffff}",
            "ä",
        ];
        for text in hostile {
            let value =
                json!({text: text, "list": [text, {text: [text]}], "nodePools": [{"name": text}]});
            assert_eq!(read(&to_yaml(&[], &item(&value))), value, "{text:?}");
        }
    }

    #[test]
    fn comments_cannot_become_values() {
        let reason = "a\nname: b\r\u{85}c: d\u{2028}e: f";
        let value = Item::map([
            ("a", Item::text("x").guess("s", reason).note(reason)),
            (
                "nodePools",
                Item::list([Item::map([
                    ("name", Item::text("p").guess("s", reason)),
                    (
                        "list",
                        Item::list([Item::number(1).with(Evidence::guess("s", reason.repeat(20)))]),
                    ),
                ])
                .guess("s", reason)
                .note(reason)]),
            ),
        ]);
        let text = to_yaml(&[reason.to_owned()], &value);
        assert_eq!(
            read(&text),
            json!({"a": "x", "nodePools": [{"name": "p", "list": [1]}]}),
            "{text}"
        );
    }

    #[test]
    fn short_mappings_are_on_one_line() {
        let value = json!({"metadata": {"name": "a"}, "kubernetes": {"version": "1.36"}});
        let text = to_yaml(&[], &item(&value));
        assert_eq!(
            text,
            "metadata: {name: a}\nkubernetes: {version: \"1.36\"}\n"
        );
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Json::from),
            "[ -~]{0,150}".prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<bool>().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|entries| Json::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_trees_are_read_back(value in any_json()) {
            let text = to_yaml(&["heading".to_owned()], &Item::single("root", item(&value)));
            prop_assert_eq!(read(&text)["root"].clone(), value, "{}", text);
        }
    }
}
