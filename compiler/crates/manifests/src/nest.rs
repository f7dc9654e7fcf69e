//! An edit that nests adjacent keys of a mapping below a new key.

use gpuc_syntax::diag::Edit;
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::{Sources, Span};

use super::text_edit::{editable_span, entry_end, has_quoted_keys, indentation_at, yaml_string};

/// Nests the entries with the keys `nested_keys` under the key `name`, if they are adjacent.
pub(super) fn nest_entries(
    sources: &Sources,
    mapping: &Node,
    nested_keys: &[&str],
    name: &str,
) -> Option<Edit> {
    let span = editable_span(mapping)?;
    let source = sources.get(span.source)?;
    let mut entries: Vec<&Entry> = mapping.entries().iter().collect();
    entries.sort_unstable_by_key(|entry| entry.key_span.start);
    // Entries from a merge key are outside of the mapping.
    let is_inside =
        |entry: &&Entry| entry.key_span.start >= span.start && entry.key_span.end <= span.end;
    if !entries.iter().all(is_inside) {
        return None;
    }
    let is_nested = |entry: &&Entry| nested_keys.contains(&entry.key.as_str());
    let first = entries.iter().position(is_nested)?;
    let run = entries[first..]
        .iter()
        .take_while(|entry| is_nested(entry))
        .count();
    if entries.iter().filter(|entry| is_nested(entry)).count() != run {
        return None;
    }
    let start = entries[first].key_span.start;
    let end = entry_end(entries[first + run - 1])?;
    let text = source.text();
    let nested_text = text.get(start as usize..end as usize)?.trim_end();
    let moved_span = Span {
        start,
        end: start + u32::try_from(nested_text.len()).ok()?,
        ..span
    };
    if text[span.start as usize..].starts_with('{') {
        let name = yaml_string(name, has_quoted_keys(source, span));
        let text = format!("{name}: {{{nested_text}}}");
        return Some(Edit {
            span: moved_span,
            text,
        });
    }
    let before = indentation_at(source, start)?;
    let step = " ".repeat(source.indentation());
    let mut lines = nested_text.lines();
    let mut text = format!("{name}:\n{before}{step}{}", lines.next()?);
    for line in lines {
        text.push('\n');
        if !line.trim().is_empty() {
            text.push_str(&step);
        }
        text.push_str(line);
    }
    Some(Edit {
        span: moved_span,
        text,
    })
}
