//! An edit that puts neighbouring keys of a mapping below one new key.

use crate::diag::Edit;
use crate::node::{Entry, Node};
use crate::source::{Sources, Span};

use super::edit::{indent, last_of_entry, own, quoted, word};

/// Puts the entries whose keys are `below` under the key `name`, where they stand one after the other.
pub(super) fn wrap(sources: &Sources, mapping: &Node, below: &[&str], name: &str) -> Option<Edit> {
    let span = own(mapping)?;
    let source = sources.get(span.source)?;
    let mut entries: Vec<&Entry> = mapping.entries().iter().collect();
    entries.sort_unstable_by_key(|entry| entry.key_span.start);
    // What a merge key brings stands elsewhere.
    let is_here =
        |entry: &&Entry| entry.key_span.start >= span.start && entry.key_span.end <= span.end;
    if !entries.iter().all(is_here) {
        return None;
    }
    let is_meant = |entry: &&Entry| below.contains(&entry.key.as_str());
    let first = entries.iter().position(is_meant)?;
    let run = entries[first..]
        .iter()
        .take_while(|entry| is_meant(entry))
        .count();
    if entries.iter().filter(|entry| is_meant(entry)).count() != run {
        return None;
    }
    let start = entries[first].key_span.start;
    let end = last_of_entry(entries[first + run - 1])?;
    let text = source.text();
    let moved = text.get(start as usize..end as usize)?.trim_end();
    let place = Span {
        start,
        end: start + u32::try_from(moved.len()).ok()?,
        ..span
    };
    if text[span.start as usize..].starts_with('{') {
        let name = word(name, quoted(source, span));
        let text = format!("{name}: {{{moved}}}");
        return Some(Edit { span: place, text });
    }
    let before = indent(source, start)?;
    let step = " ".repeat(source.step());
    let mut lines = moved.lines();
    let mut text = format!("{name}:\n{before}{step}{}", lines.next()?);
    for line in lines {
        text.push('\n');
        if !line.trim().is_empty() {
            text.push_str(&step);
        }
        text.push_str(line);
    }
    Some(Edit { span: place, text })
}
