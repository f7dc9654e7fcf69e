//! Fingerprints, which identify a finding across commits.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::location::normalize_path;
use crate::diag::Diagnostic;
use crate::source::{Sources, Span};

/// Assigns fingerprints to the findings of one document. Equal findings are numbered.
pub(super) struct Fingerprints<'s> {
    sources: &'s Sources,
    seen: BTreeMap<String, usize>,
    lines: BTreeMap<u32, Vec<String>>,
}

impl<'s> Fingerprints<'s> {
    pub(super) fn new(sources: &'s Sources) -> Self {
        Self {
            sources,
            seen: BTreeMap::new(),
            lines: BTreeMap::new(),
        }
    }

    /// A fingerprint that does not depend on lines above the finding: its code, its file, the text of its line, and the
    /// number of equal findings before it.
    pub(super) fn fingerprint(&mut self, found: &Diagnostic) -> String {
        let span = found.primary.span;
        let file = normalize_path(file_path(self.sources, span));
        let mut hash = Sha256::new();
        for part in [found.code.id, &file, line_text(self.sources, span)] {
            hash.update(part);
            hash.update([0]);
        }
        let mut text = String::new();
        for byte in &hash.finalize()[..16] {
            write!(text, "{byte:02x}").expect("a string takes all that is written");
        }
        let count = self.seen.entry(text.clone()).or_default();
        *count += 1;
        format!("{text}:{count}")
    }

    /// GitHub's fingerprint of the line, which code scanning uses: `None` if the text is unknown.
    pub(super) fn line_hash(&mut self, span: Span) -> Option<&str> {
        let source = self.sources.get(span.source)?;
        if source.text().is_empty() {
            return None;
        }
        let of_file = || hash_lines(source.text());
        let lines = self.lines.entry(span.source).or_insert_with(of_file);
        let line = source.position(span.start).line;
        lines.get(line.checked_sub(1)?).map(String::as_str)
    }
}

/// The maximum length of a line that is hashed as a whole, in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// The number of characters that are hashed per line.
const HASHED_UNITS: usize = 100;

/// The multiplier of the rolling hash.
const HASH_FACTOR: u64 = 37;

/// The fingerprint of each line as computed by code scanning's upload action, which warns about others: a rolling hash,
/// modulo 2^64, of the 100 UTF-16 units from the start of the line that are neither spaces nor tabs, with line ends as
/// `\n`, an end-of-file mark and zeros after it; and the number of previous lines with the same hash.
///
/// `src/fingerprints.ts` of github/codeql-action@0225834cc549ee0ca93cb085b92954821a145866
fn hash_lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let units = text
        .encode_utf16()
        .filter(|unit| ![u16::from(b' '), u16::from(b'\t')].contains(unit));
    let units: Vec<u64> = units
        .chain([u16::MAX])
        .map(u64::from)
        .chain([0; HASHED_UNITS])
        .collect();
    let mut leaving: u64 = 1;
    for _ in 0..HASHED_UNITS {
        leaving = leaving.wrapping_mul(HASH_FACTOR);
    }
    let mut hash: u64 = 0;
    for unit in &units[..HASHED_UNITS] {
        hash = hash.wrapping_mul(HASH_FACTOR).wrapping_add(*unit);
    }
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let mut hashes = Vec::new();
    let mut is_line_start = true;
    for (at, unit) in units[..units.len() - HASHED_UNITS].iter().enumerate() {
        if is_line_start {
            let count = counts.entry(hash).or_default();
            *count += 1;
            hashes.push(format!("{hash:x}:{count}"));
        }
        is_line_start = *unit == u64::from(b'\n');
        let entering = units.get(at + HASHED_UNITS).copied().unwrap_or_default();
        hash = hash
            .wrapping_mul(HASH_FACTOR)
            .wrapping_add(entering)
            .wrapping_sub(leaving.wrapping_mul(*unit));
    }
    hashes
}

fn file_path(sources: &Sources, span: Span) -> &str {
    sources.get(span.source).map_or("", |source| source.path())
}

/// The text of the line, or of the value if the line is so long that hashing it for each of its findings takes too
/// much time.
fn line_text(sources: &Sources, span: Span) -> &str {
    let source = sources.get(span.source);
    source.map_or("", |source| {
        let line = source.line(source.position(span.start).line).trim();
        if line.len() <= MAX_LINE_BYTES {
            line
        } else {
            let text = sources.text(span);
            let end = (0..=MAX_LINE_BYTES)
                .rev()
                .find(|end| text.is_char_boundary(*end));
            &text[..end.unwrap_or_default().min(text.len())]
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts with the fingerprints of their lines, from the tests of the upload action:
    /// <https://github.com/github/codeql-action/blob/06fb4821bc5072ed100eda4cf20691ae907c5913/src/fingerprints.test.ts>
    #[test]
    fn line_hashes_match_code_scanning() {
        let greetings = [
            "e9496ae3ebfced30:1",
            "fb7c023a8b9ccb3f:1",
            "ce8ba1a563dcdaca:1",
            "e20e36e16fcb0cc8:1",
            "b3edc88f2938467e:1",
            "c8e28b0b4002a3a0:1",
            "c129715d7a2bc9a3:1",
        ];
        assert_eq!(hash_lines(""), ["c129715d7a2bc9a3:1"]);
        assert_eq!(
            hash_lines(" a\nb\n  \t\tc\n d"),
            [
                "271789c17abda88f:1",
                "54703d4cd895b18:1",
                "180aee12dab6264:1",
                "a23a3dc5e078b07b:1"
            ]
        );
        for ends in [
            " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n",
            " hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r",
            " hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n",
            " hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
        ] {
            assert_eq!(hash_lines(ends), greetings);
        }
        assert_eq!(
            hash_lines(&"Lorem ipsum dolor sit amet.\n".repeat(10)),
            [
                "a7f2ff13bc495cf2:1",
                "a7f2ff13bc495cf2:2",
                "a7f2ff13bc495cf2:3",
                "a7f2ff13bc495cf2:4",
                "a7f2ff13bc495cf2:5",
                "a7f2ff13bc495cf2:6",
                "a7f2ff1481e87703:1",
                "a9cf91f7bbf1862b:1",
                "55ec222b86bcae53:1",
                "cc97dc7b1d7d8f7b:1",
                "c129715d7a2bc9a3:1"
            ]
        );
    }
}
