//! The file, line and column of a finding, and paths as repository hosts have them.

use crate::source::{Position, Sources, Span};

/// A location for output.
pub(super) struct Location<'s> {
    pub(super) file: &'s str,
    pub(super) start: Position,
    pub(super) end: Position,
}

/// The location of a span; `None` for values that are not in a file.
pub(super) fn find_location(sources: &Sources, span: Span) -> Option<Location<'_>> {
    let source = sources.get(span.source)?;
    Some(Location {
        file: source.path(),
        start: source.position(span.start),
        end: source.position(span.end),
    })
}

/// A location for formats that require one: the start of the first file for values that are not in a file.
pub(super) fn find_location_or_first(sources: &Sources, span: Span) -> Option<Location<'_>> {
    find_location(sources, span).or_else(|| {
        let first = sources.iter().next()?;
        let head = first.position(0);
        Some(Location {
            file: first.path(),
            start: head,
            end: head,
        })
    })
}

/// A path as used by a repository host: without `.`, and without resolvable `..`.
pub(super) fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        let has_parent = parts.last().is_some_and(|last| !["", ".."].contains(last));
        match part {
            "." => {}
            ".." if has_parent => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
