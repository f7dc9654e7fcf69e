//! Quoted texts whose continuation lines are not indented more than their key.
//!
//! YAML requires the indentation (YAML 1.2.2, `s-flow-line-prefix`), but libyaml and go-yaml do not. The lines are
//! indented before parsing: leading spaces of a continuation line are not part of the text.

use std::collections::BTreeSet;

use granit_parser::{ErrorKind, Parser};

use super::codes;
use super::parse::{parser_options, span_at};
use crate::diag::{Edit, Report};
use crate::source::Span;

/// The bytes that all attempts together may parse.
const MAX_PARSED: usize = 16 * 1024 * 1024;

/// The maximum number of findings.
const MAX_FINDINGS: usize = 50;

/// A text with indented continuation lines.
pub(super) struct IndentedText {
    pub(super) text: String,
    pub(super) insertions: Insertions,
}

/// The spaces that were inserted into a text, in order.
#[derive(Default)]
pub(super) struct Insertions(Vec<Insertion>);

#[derive(Clone, Copy)]
struct Insertion {
    /// The offset in the text with insertions.
    start: usize,
    spaces: usize,
    /// The number of spaces inserted before.
    before: usize,
    /// Whether it is in the first line of a group of lines.
    is_first: bool,
}

impl Insertions {
    /// The offset in the original text of an offset in the text with insertions.
    fn original(&self, offset: usize) -> usize {
        let after = self.0.partition_point(|it| it.start < offset);
        let Some(last) = after.checked_sub(1).map(|index| self.0[index]) else {
            return offset;
        };
        offset - last.before - last.spaces.min(offset - last.start)
    }

    /// The span in the original text.
    pub(super) fn original_span(&self, source: u32, start: usize, end: usize) -> Span {
        span_at(source, self.original(start), self.original(end))
    }

    /// Reports each group of lines.
    pub(super) fn report(&self, source: u32, report: &mut Report) {
        let groups = self.0.chunk_by(|_, next| !next.is_first);
        for group in groups.take(MAX_FINDINGS) {
            let edit = |insertion: &Insertion| {
                let at = insertion.start - insertion.before;
                Edit {
                    span: span_at(source, at, at),
                    text: " ".repeat(insertion.spaces),
                }
            };
            let edits: Vec<_> = group.iter().map(edit).collect();
            let message = "a continuation line of a quoted text is not indented";
            report
                .diagnostic(&codes::TEXT_NOT_INDENTED, edits[0].span, message)
                .help("indent the lines of the text more than its key: some YAML parsers reject it")
                .fix(edits)
                .emit();
        }
    }
}

/// The text with its continuation lines indented; `None` if there are none or too many.
pub(super) fn indent_continuations(text: &str) -> Option<IndentedText> {
    let mut lines = Lines::from_text(text);
    let mut parsed = 0;
    loop {
        let (text, insertions) = lines.join();
        let Some(at) = find_continuation(&text) else {
            return (!insertions.0.is_empty()).then_some(IndentedText { text, insertions });
        };
        parsed += text.len();
        if parsed > MAX_PARSED || !lines.indent(&text, at) {
            return None;
        }
    }
}

/// The lines of a text, each with the spaces to insert before it.
struct Lines<'t> {
    lines: Vec<(&'t str, usize)>,
    /// The lines that the parser rejected, by index. A line that it rejects again is no continuation line.
    rejected: BTreeSet<usize>,
}

impl<'t> Lines<'t> {
    fn from_text(text: &'t str) -> Self {
        Self {
            lines: text.split_inclusive('\n').map(|line| (line, 0)).collect(),
            rejected: BTreeSet::new(),
        }
    }

    fn join(&self) -> (String, Insertions) {
        let (mut text, mut insertions) = (String::new(), Vec::new());
        let mut before = 0;
        let mut is_first = true;
        for (line, spaces) in &self.lines {
            if *spaces > 0 {
                insertions.push(Insertion {
                    start: text.len(),
                    spaces: *spaces,
                    before,
                    is_first,
                });
                before += spaces;
                text.extend(std::iter::repeat_n(' ', *spaces));
            }
            is_first = *spaces == 0 && (is_first || !line.trim().is_empty());
            text.push_str(line);
        }
        (text, Insertions(insertions))
    }

    /// Indents the line at an offset of the joined text more than the line before it, and the following lines up to a
    /// quote. Returns whether that changes anything.
    fn indent(&mut self, joined: &str, at: usize) -> bool {
        let first = joined[..at].matches('\n').count();
        let own = at - joined[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if !self.rejected.insert(first) {
            return false;
        }
        // Blank lines are part of the text.
        let mut above = self.lines[..first].iter().rev();
        let Some((before, inserted)) = above.find(|(line, _)| !line.trim().is_empty()) else {
            return false;
        };
        let depth = before.len() - before.trim_start_matches([' ', '-', '?']).len() + inserted;
        let spaces = (depth + 1).saturating_sub(own);
        for (line, inserted) in &mut self.lines[first..] {
            // A missing quote is more likely than such a text.
            if is_structure(line) {
                return false;
            }
            if !line.trim().is_empty() {
                *inserted += spaces;
            }
            if line.contains(['"', '\'']) {
                break;
            }
        }
        spaces > 0
    }
}

/// Whether a line looks like a key, a list item or the start of a document, and not like the words of a text.
fn is_structure(line: &str) -> bool {
    let own = line.trim();
    let is_key_part = |c: char| c.is_ascii_alphanumeric() || "-_./\"'".contains(c);
    let key = own.trim_start_matches("- ").split_once(':');
    let is_key = key.is_some_and(|(key, value)| {
        !key.is_empty()
            && key.chars().all(is_key_part)
            && (value.is_empty() || value.starts_with(' '))
    });
    is_key || own == "-" || own.starts_with("- ") || own.starts_with("---") || own == "..."
}

/// The offset of the first continuation line that the parser rejects.
fn find_continuation(text: &str) -> Option<usize> {
    let mut parser = Parser::new_from_str_with_options(text, parser_options());
    loop {
        match parser.next_event()? {
            Ok(_) => {}
            Err(error) if *error.kind() == ErrorKind::InvalidQuotedScalarIndent => {
                return error.marker().byte_offset();
            }
            Err(_) => {
                if !matches!(parser.proceed_next_document(), Ok(true)) {
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fuzzer found this text: more indentation never helps, and each attempt parses the text.
    #[test]
    fn a_line_is_indented_once() {
        let text = "a:\n  - b: c\n'     d # e\n";
        let mut lines = Lines::from_text(text);
        let at = find_continuation(text).unwrap();
        assert!(lines.indent(text, at));
        let (joined, _) = lines.join();
        let again = find_continuation(&joined).unwrap();
        assert!(!lines.indent(&joined, again));
        assert!(indent_continuations(text).is_none());
    }
}
