//! Edits of a manifest's text that preserve every other byte.
//!
//! Additions to a block become separate lines with the indentation of their siblings; additions to `{…}` or `[…]` go
//! before the bracket. There is no edit for a layout that is not understood with certainty.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use gpuc_syntax::diag::Edit;
use gpuc_syntax::node::{Entry, Node, Origin, Scalar, Value};
use gpuc_syntax::source::{Source, Sources, Span, to_offset};
use gpuc_syntax::yaml::core_schema::{CoreValue, resolve_scalar};
use gpuc_syntax::yaml::to_yaml;

/// The span of a node, unless it comes from an alias: an edit would change the anchor.
pub(super) fn editable_span(node: &Node) -> Option<Span> {
    match node.origin {
        Origin::Written { span, alias: None } => Some(span),
        _ => None,
    }
}

/// Replaces the value of a leaf, keeping its quotes. There is no edit for a leaf with a tag, except that quoted text
/// also replaces the tag.
pub(super) fn replace_value(sources: &Sources, node: &Node, text: &str) -> Option<Edit> {
    let span = editable_span(node)?;
    match tag_start(sources, span) {
        None => replace_keeping_quotes(sources, span, text),
        Some(start) if text.starts_with('"') => Some(Edit {
            span: Span { start, ..span },
            text: text.to_owned(),
        }),
        Some(_) => None,
    }
}

/// Replaces a leaf with text, keeping its quotes or adding those that it needs.
pub(super) fn replace_text(sources: &Sources, node: &Node, text: &str) -> Option<Edit> {
    let is_quoted = sources.text(editable_span(node)?).starts_with(['"', '\'']);
    if is_quoted {
        replace_value(sources, node, text)
    } else {
        replace_value(sources, node, &yaml_string(text, false))
    }
}

/// The start of a tag directly before a leaf.
fn tag_start(sources: &Sources, span: Span) -> Option<u32> {
    let source = sources.get(span.source)?;
    let before = source.text()[..span.start as usize].trim_end_matches(' ');
    let start = before
        .rfind([' ', '\n', '{', '[', ','])
        .map_or(0, |end| end + 1);
    before[start..].starts_with('!').then(|| to_offset(start))
}

/// Sets the value of a key that has none.
pub(super) fn fill_value(sources: &Sources, entry: &Entry, value: &Json) -> Option<Edit> {
    let span = editable_span(&entry.value)?;
    let source = sources.get(span.source)?;
    let text = source.text();
    let key_end = entry.key_span.end as usize;
    let entry_span = Span {
        start: entry.key_span.start,
        ..span
    };
    match &entry.value.value {
        Value::Scalar(Scalar::Written { text, plain: true })
            if resolve_scalar(text, true) == CoreValue::Null => {}
        Value::Sequence(items) if items.is_empty() && value.is_array() => {
            let text = flow_text(value, has_quoted_keys(source, entry_span));
            let own = sources.text(span);
            let inner = own.strip_prefix('[')?.strip_suffix(']')?;
            return inner.trim().is_empty().then_some(Edit { span, text });
        }
        _ => return None,
    }
    let value = flow_text(value, has_quoted_keys(source, entry_span));
    if ["~", "null"].contains(&sources.text(span)) {
        return Some(Edit { span, text: value });
    }
    let is_empty = sources.text(span).trim().is_empty() && text[key_end..].starts_with(':');
    is_empty.then(|| insertion(span.source, to_offset(key_end + 1), format!(" {value}")))
}

/// Renames the key of an entry.
pub(super) fn rename_key(sources: &Sources, entry: &Entry, key: &str) -> Option<Edit> {
    editable_span(&entry.value)?;
    replace_keeping_quotes(sources, entry.key_span, key)
}

fn replace_keeping_quotes(sources: &Sources, span: Span, text: &str) -> Option<Edit> {
    let before = sources.text(span);
    let text = match before.chars().next()? {
        quote @ ('"' | '\'') if before.len() > 1 && before.ends_with(quote) => {
            format!("{quote}{text}{quote}")
        }
        '"' | '\'' | '|' | '>' | '&' | '*' | '!' => return None,
        _ => text.to_owned(),
    };
    Some(Edit { span, text })
}

/// Appends an entry to a mapping.
pub(super) fn append_entry(
    sources: &Sources,
    mapping: &Node,
    name: &str,
    value: &Json,
) -> Option<Edit> {
    let span = editable_span(mapping)?;
    let source = sources.get(span.source)?;
    let entries = mapping.entries();
    if source.text()[span.start as usize..].starts_with('{') {
        let quoted = has_quoted_keys(source, span);
        let text = format!(
            "{}: {}",
            yaml_string(name, quoted),
            flow_text(value, quoted)
        );
        let last = match entries.last() {
            Some(last) => Some(entry_end(last)?),
            None => None,
        };
        return insert_in_brackets(span, last, text);
    }
    let first = entries.iter().map(|entry| entry.key_span.start).min()?;
    if first != span.start || entries.iter().any(|entry| entry.key_span.end > span.end) {
        return None;
    }
    let indent = indentation_at(source, span.start)?;
    let lines = block_lines(source, &json!({ name: value }));
    insert_lines_after(
        source,
        span,
        lines.into_iter().map(|line| format!("{indent}{line}")),
    )
}

/// Appends an item to a list.
pub(super) fn append_item(sources: &Sources, list: &Node, value: &Json) -> Option<Edit> {
    let span = editable_span(list)?;
    let source = sources.get(span.source)?;
    let text = &source.text()[span.start as usize..];
    if text.starts_with('[') {
        let quoted = has_quoted_keys(source, span);
        let last = list.items().last().map(|item| item.span().end);
        return insert_in_brackets(span, last, flow_text(value, quoted));
    }
    // For the parser, a list without spaces before its dashes begins after the first dash.
    let first = list.items().first()?.span().start;
    let before = &source.text()[..first as usize];
    let line = before[before.rfind('\n').map_or(0, |end| end + 1)..].trim_end_matches(' ');
    let indent = line.strip_suffix('-')?;
    if !indent.bytes().all(|byte| byte == b' ') {
        return None;
    }
    let lines = block_lines(source, value);
    let lines = lines.into_iter().enumerate().map(|(index, line)| {
        let dash = if index == 0 { "- " } else { "  " };
        format!("{indent}{dash}{line}")
    });
    insert_lines_after(source, span, lines)
}

/// A value as lines, with the indentation step of the source.
fn block_lines(source: &Source, value: &Json) -> Vec<String> {
    let step = source.indentation();
    let text = to_yaml(&Node::from_json(value.clone()));
    // The new column for each column up to that of the line.
    let mut columns = BTreeMap::from([(0, 0)]);
    let mut indented = |line: &str| {
        let content = line.trim_start_matches(' ');
        let mut column = line.len() - content.len();
        columns.split_off(&(column + 1));
        let outer = columns.range(..column).next_back();
        let outer = outer.map_or(0, |(_, column)| column + step);
        let own = *columns.entry(column).or_insert(outer);
        let (mut rest, mut inner) = (content, own);
        while let Some(after) = rest.strip_prefix("- ") {
            (rest, column, inner) = (after, column + 2, inner + 2);
            columns.insert(column, inner);
        }
        format!("{}{content}", " ".repeat(own))
    };
    text.lines().map(&mut indented).collect()
}

/// The end of the last entry of a flow mapping; `None` if its value is empty.
pub(super) fn entry_end(entry: &Entry) -> Option<u32> {
    let end = entry.value.span().end;
    (end > entry.key_span.end).then_some(end)
}

/// Inserts text after the last element, or as the first one.
fn insert_in_brackets(span: Span, last: Option<u32>, text: String) -> Option<Edit> {
    let (at, text) = match last {
        None => (span.start + 1, text),
        Some(end) if end < span.end => (end, format!(", {text}")),
        Some(_) => return None,
    };
    Some(insertion(span.source, at, text))
}

/// The text up to the end of a node, without trailing comments that are indented no further than the node: they belong
/// to the following node. Comments indented further may be lines of a block scalar.
fn without_trailing_comments(text: &str, span: Span) -> &str {
    let line = text[..span.start as usize]
        .rfind('\n')
        .map_or(0, |end| end + 1);
    let column = span.start as usize - line;
    let mut until = &text[..span.end as usize];
    loop {
        let trimmed = until.trim_end_matches([' ', '\r', '\n']);
        let start = trimmed.rfind('\n').map_or(0, |end| end + 1);
        let last = &trimmed[start..];
        let comment = last.trim_start_matches(' ');
        let is_comment = comment.starts_with('#') && last.len() - comment.len() <= column;
        if !is_comment || start <= span.start as usize {
            return until;
        }
        until = &text[..start];
    }
}

/// Inserts whole lines after the last line of a node.
fn insert_lines_after(
    source: &Source,
    span: Span,
    lines: impl Iterator<Item = String>,
) -> Option<Edit> {
    let text = source.text();
    // For the parser, a block scalar ends where the content of the next line begins.
    let until = without_trailing_comments(text, span).trim_end_matches(' ');
    let end = if until.ends_with('\n') {
        until.len()
    } else {
        until.len().max(without_trailing_comments(text, span).len())
    };
    let rest = &text[end..];
    let ends_line = text[..end].ends_with('\n');
    let line_end = match rest.find('\n').filter(|_| !ends_line) {
        Some(next) => end + next,
        None => text[..end].rfind('\n').unwrap_or_default(),
    };
    let line_break = if text[..line_end].ends_with('\r') {
        "\r\n"
    } else {
        "\n"
    };
    let (at, before) = match rest.find('\n') {
        _ if ends_line => (end, ""),
        Some(next) => (end + next + 1, ""),
        None => (text.len(), line_break),
    };
    let between = text[end..at].trim();
    if !between.is_empty() && !between.starts_with('#') {
        return None;
    }
    let lines: Vec<String> = lines.collect();
    let mut lines = lines.join(line_break);
    lines.insert_str(0, before);
    if before.is_empty() {
        lines.push_str(line_break);
    }
    Some(insertion(
        span.source,
        gpuc_syntax::source::to_offset(at),
        lines,
    ))
}

/// An edit that inserts text.
fn insertion(source: u32, at: u32, text: String) -> Edit {
    let span = Span {
        source,
        start: at,
        end: at,
    };
    Edit { span, text }
}

/// The indentation of a position: spaces in place of the spaces and list dashes before it on its line.
pub(super) fn indentation_at(source: &Source, at: u32) -> Option<String> {
    let before = &source.text()[..at as usize];
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    line.chars()
        .all(|c| matches!(c, ' ' | '-'))
        .then(|| " ".repeat(line.chars().count()))
}

/// Whether keys are in double quotes, as in JSON.
pub(super) fn has_quoted_keys(source: &Source, span: Span) -> bool {
    let text = &source.text()[span.start as usize..span.end as usize];
    let json = source.text().trim_start().starts_with('{');
    json || text
        .trim_start_matches(['{', '[', ' ', '\r', '\n'])
        .starts_with('"')
}

/// A value in flow style, on one line.
pub(super) fn flow_text(value: &Json, quoted: bool) -> String {
    match value {
        Json::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                format!("{}: {}", yaml_string(key, quoted), flow_text(value, quoted))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => {
            let items = items.iter().map(|item| flow_text(item, quoted));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => yaml_string(text, quoted),
        other => other.to_string(),
    }
}

/// Text that every YAML parser reads as a string, quoted if necessary.
pub(super) fn yaml_string(text: &str, quoted: bool) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_');
    let letters = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let other = ["y", "n", "yes", "no", "on", "off"];
    let is_ambiguous = !matches!(resolve_scalar(text, true), CoreValue::Text(_))
        || other.contains(&text.to_ascii_lowercase().as_str());
    if quoted || !letters || is_ambiguous || !text.chars().all(is_safe) {
        Json::from(text).to_string()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_syntax::diag::Report;
    use gpuc_syntax::yaml::parse;

    /// The text after adding an entry `b: {c: "true"}` to the node at `path`.
    fn added(text: &str, path: &[&str]) -> Option<String> {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("a.yaml", text);
        let documents = parse(&sources, id, &mut report);
        let mut node = &documents[0].root;
        for key in path {
            node = node
                .get(key)
                .or_else(|| node.items().first())
                .expect("a node");
        }
        let value = json!({"c": "true", "d": 1});
        let edit = match node.items() {
            [] => append_entry(&sources, node, "b", &value),
            _ => append_item(&sources, node, &value),
        }?;
        let mut text = text.to_owned();
        text.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
        Some(text)
    }

    #[test]
    fn block_additions_are_separate_lines() {
        for (text, path, after) in [
            (
                "a: 1 # x\n",
                &[][..],
                "a: 1 # x\nb:\n  c: \"true\"\n  d: 1\n",
            ),
            (
                "a:\n    x: 1\n",
                &["a"],
                "a:\n    x: 1\n    b:\n        c: \"true\"\n        d: 1\n",
            ),
            ("a: 1", &[], "a: 1\nb:\n  c: \"true\"\n  d: 1"),
            (
                "a:\r\n- x: 1\r\n",
                &["a", ""],
                "a:\r\n- x: 1\r\n  b:\r\n    c: \"true\"\r\n    d: 1\r\n",
            ),
            (
                "a:\n  - x: 1\n\n# z\nz: 1\n",
                &["a"],
                "a:\n  - x: 1\n  - c: \"true\"\n    d: 1\n\n# z\nz: 1\n",
            ),
            (
                "a:\n  a:\n    t: |\n      x\n  z: 1\n",
                &["a", "a"],
                "a:\n  a:\n    t: |\n      x\n    b:\n      c: \"true\"\n      d: 1\n  z: 1\n",
            ),
            (
                "a:\n  t: |\n    x\n    # y\n\n# z\nz: 1\n",
                &["a"],
                "a:\n  t: |\n    x\n    # y\n\n  b:\n    c: \"true\"\n    d: 1\n# z\nz: 1\n",
            ),
            (
                "a:\n- x: 1\n  y:\n    z: 1\n# z\nz: 1\n",
                &["a", ""],
                "a:\n- x: 1\n  y:\n    z: 1\n  b:\n    c: \"true\"\n    d: 1\n# z\nz: 1\n",
            ),
            (
                "a:\n  t: |\n    x\nz: 1\n",
                &["a"],
                "a:\n  t: |\n    x\n  b:\n    c: \"true\"\n    d: 1\nz: 1\n",
            ),
        ] {
            assert_eq!(added(text, path).as_deref(), Some(after), "{text}");
        }
    }

    #[test]
    fn flow_additions_go_before_the_bracket() {
        for (text, path, after) in [
            (
                "a: {x: 1}\n",
                &["a"][..],
                "a: {x: 1, b: {c: \"true\", d: 1}}\n",
            ),
            ("a: {}\n", &["a"], "a: {b: {c: \"true\", d: 1}}\n"),
            (
                "a: [{x: 1}, ]\n",
                &["a"],
                "a: [{x: 1}, {c: \"true\", d: 1}, ]\n",
            ),
            (
                "{\"a\": {\"x\": 1\n}}",
                &["a"],
                "{\"a\": {\"x\": 1, \"b\": {\"c\": \"true\", \"d\": 1}\n}}",
            ),
        ] {
            assert_eq!(added(text, path).as_deref(), Some(after), "{text}");
        }
    }

    #[test]
    fn other_layouts_get_no_edit() {
        assert_eq!(added("x: &a {y: 1}\na: *a\n", &["a"]), None);
        assert_eq!(added("a: {x: }\n", &["a"]), None);
        assert_eq!(added("a:\n- - x: 1\n", &["a", ""]), None);
    }
}
