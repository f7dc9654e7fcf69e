//! The source files of a run, and locations in them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

pub use gpuc_schema::Span;

/// One source file.
#[derive(Clone, Debug)]
pub struct Source {
    path: String,
    text: Arc<str>,
    line_starts: Vec<u32>,
    /// The number of characters before each multiple of [`COUNTED_BYTES`], for columns in long lines. A character
    /// counts at its first byte.
    char_counts: OnceLock<Vec<u32>>,
    indentation: OnceLock<usize>,
}

/// The distance in bytes of known character counts.
const COUNTED_BYTES: usize = 1024;

/// The number of lines that are used to detect the indentation.
const SAMPLED_LINES: usize = 500;

impl Source {
    /// Creates a file from its path for messages and its text.
    ///
    /// A byte order mark at the start is not part of the text. Texts are at most 4 GiB long; the reader's limit is far
    /// lower.
    pub fn new(path: impl Into<String>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(starts.map(|(index, _)| to_offset(index + 1)))
            .collect();
        Self {
            path: path.into(),
            text: Arc::from(text),
            line_starts,
            char_counts: OnceLock::new(),
            indentation: OnceLock::new(),
        }
    }

    /// The path as given by the user, or relative to the referring file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The indentation width of the YAML text; 2 if unknown.
    pub fn indentation(&self) -> usize {
        *self
            .indentation
            .get_or_init(|| detect_indentation(&self.text))
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub fn position(&self, byte: u32) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= byte) - 1;
        let start = self.line_starts[line] as usize;
        let end = (byte as usize).min(self.text.len());
        let is_between_chars = self.text.is_char_boundary(end);
        Position {
            line: line + 1,
            column: if is_between_chars {
                self.count_chars(end) - self.count_chars(start) + 1
            } else {
                1
            },
        }
    }

    /// The byte of a column in a line, both counted from 1; the end of the line if it is shorter.
    pub fn byte_of_column(&self, line: usize, column: usize) -> usize {
        let text = self.line(line);
        let start = self.line_starts.get(line.wrapping_sub(1));
        let start = start.map_or(self.text.len(), |byte| *byte as usize);
        let wanted = self.count_chars(start) + column - 1;
        let counts = self.char_counts();
        let block = counts.partition_point(|count| *count as usize <= wanted);
        // The last block that begins at or before the column, or the line.
        let from = ((block.max(1) - 1) * COUNTED_BYTES).max(start);
        let from = (from..self.text.len()).find(|byte| self.text.is_char_boundary(*byte));
        let from = from.unwrap_or(self.text.len());
        let rest = &self.text[from..];
        let missing = wanted - self.count_chars(from).min(wanted);
        let mut bytes = rest.char_indices().map(|(byte, _)| from + byte);
        let end = start + text.len();
        bytes.nth(missing).map_or(end, |byte| byte.min(end))
    }

    /// The number of characters before a byte.
    fn count_chars(&self, byte: usize) -> usize {
        let block = byte / COUNTED_BYTES;
        let before = self.char_counts()[block] as usize;
        before + count_char_starts(&self.text.as_bytes()[block * COUNTED_BYTES..byte])
    }

    fn char_counts(&self) -> &[u32] {
        self.char_counts.get_or_init(|| {
            let blocks = self.text.as_bytes().chunks(COUNTED_BYTES);
            let mut counts = vec![0];
            let mut count = 0;
            for block in blocks {
                count += count_char_starts(block);
                counts.push(to_offset(count));
            }
            counts
        })
    }

    /// The text of a line, counted from 1, without its line break.
    pub fn line(&self, number: usize) -> &str {
        let start = self.line_starts.get(number.wrapping_sub(1));
        let end = self.line_starts.get(number);
        let start = start.map_or(self.text.len(), |byte| *byte as usize);
        let end = end.map_or(self.text.len(), |byte| *byte as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// A human-readable position: both numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// All files of a run, by number.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
    by_path: BTreeMap<String, u32>,
}

impl Sources {
    /// Adds a file and returns its number. An existing path keeps its number and text.
    pub fn add(&mut self, path: &str, text: &str) -> u32 {
        if let Some(id) = self.by_path.get(path) {
            return *id;
        }
        let id = to_offset(self.files.len());
        self.files.push(Source::new(path, text));
        self.by_path.insert(path.to_owned(), id);
        id
    }

    /// The number of files.
    pub fn count(&self) -> u32 {
        to_offset(self.files.len())
    }

    /// The file of a span; `None` for values that are not in a file.
    pub fn get(&self, id: u32) -> Option<&Source> {
        self.files.get(id as usize)
    }

    /// The number of the file with this path.
    pub fn find(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    /// All files, in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    /// Path, line and column of a span's start, if it is in a file.
    pub fn locate(&self, span: Span) -> Option<(&str, Position)> {
        let source = self.get(span.source)?;
        Some((source.path(), source.position(span.start)))
    }

    /// The text of a span; empty for values that are not in a file.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.source)
            .and_then(|source| source.text().get(span.start as usize..span.end as usize))
            .unwrap_or_default()
    }
}

/// The number of characters that begin in these bytes of UTF-8.
fn count_char_starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// The indentation width of a text.
fn detect_indentation(text: &str) -> usize {
    let lines = text.lines().take(SAMPLED_LINES);
    let lines = lines.map(|line| line.trim_end_matches('\r'));
    let lines: Vec<_> = lines
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let key = pair[0].trim_start_matches([' ', '-']);
        let below = pair[1].trim_start_matches(' ');
        let is_below = key.ends_with(':') && !below.is_empty() && !below.starts_with('-');
        let (outer, inner) = (pair[0].len() - key.len(), pair[1].len() - below.len());
        (is_below && inner > outer).then(|| inner - outer)
    });
    pairs.min().unwrap_or(2)
}

/// A byte offset or file number. Input is limited to far less than 4 GiB.
pub fn to_offset(index: usize) -> u32 {
    u32::try_from(index).expect("the reader refuses files of 4 GiB")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The same as counting the characters of the line one by one.
        #[test]
        fn columns_and_bytes_agree(text in "[aé😀\n]{0,3000}", at in 0..9000_usize) {
            let source = Source::new("a.yaml", &text);
            let byte = (0..=at.min(text.len())).rev().find(|byte| text.is_char_boundary(*byte));
            let byte = byte.expect("0 is a boundary");
            let position = source.position(to_offset(byte));
            let start = text[..byte].rfind('\n').map_or(0, |end| end + 1);
            prop_assert_eq!(position.line, text[..byte].matches('\n').count() + 1);
            prop_assert_eq!(position.column, text[start..byte].chars().count() + 1);
            prop_assert_eq!(source.byte_of_column(position.line, position.column), byte);
            let end = source.byte_of_column(position.line, usize::MAX / 2);
            prop_assert_eq!(end, start + source.line(position.line).len());
        }
    }

    #[test]
    fn positions_count_characters_and_lines_from_one() {
        let source = Source::new("a.yaml", "\u{feff}a: ä\r\nb: 1\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(5), Position { line: 1, column: 5 });
        assert_eq!(source.position(7), Position { line: 2, column: 1 });
        assert_eq!(source.line(1), "a: ä");
        assert_eq!(source.line(2), "b: 1");
        assert_eq!(source.line(9), "");
    }
}
