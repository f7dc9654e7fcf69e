//! Lines of logs without what terminals, `kubectl logs`, `stern` and `mpirun` add to them.

use std::borrow::Cow;

use crate::judgement::Evidence;

/// The maximum number of bytes of a line that are read. NCCL writes lines of at most 1024 bytes (NVIDIA/nccl
/// `src/debug.cc`, from memory).
const MAX_LINE: usize = 8192;

/// The maximum number of characters of a line that are shown.
const MAX_SHOWN: usize = 300;

/// A line of a log.
pub(crate) struct LogLine<'t> {
    /// The number, from 1.
    pub(crate) number: u64,
    /// The pod, from the prefix `[pod/name/container]` of `kubectl logs --prefix` or that of `stern`; empty without it.
    pub(crate) pod: Cow<'t, str>,
    /// The text without colors and prefixes.
    pub(crate) text: Cow<'t, str>,
}

impl LogLine<'_> {
    /// The line as evidence.
    pub(crate) fn evidence(&self) -> Evidence {
        self.evidence_of(&self.text)
    }

    /// A part of the line as evidence.
    pub(crate) fn evidence_of(&self, text: &str) -> Evidence {
        let printable = |it: char| if it.is_control() { ' ' } else { it };
        Evidence {
            line: self.number,
            text: text.trim().chars().take(MAX_SHOWN).map(printable).collect(),
        }
    }
}

/// The lines of a text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = LogLine<'_>> {
    (1..)
        .zip(text.split('\n'))
        .map(|(number, line)| read(number, line))
}

/// Reads a line.
pub(crate) fn read(number: u64, line: &str) -> LogLine<'_> {
    let end = line.floor_char_boundary(MAX_LINE);
    let text = without_colors(&line[..end]);
    let (pod, text) = match text {
        Cow::Borrowed(text) => {
            let (pod, start) = prefix(text);
            (Cow::Borrowed(pod), Cow::Borrowed(text[start..].trim_end()))
        }
        Cow::Owned(text) => {
            let (pod, start) = prefix(&text);
            let pod = Cow::Owned(pod.to_owned());
            (pod, Cow::Owned(text[start..].trim_end().to_owned()))
        }
    };
    LogLine { number, pod, text }
}

/// The text without ANSI escape sequences and carriage returns.
fn without_colors(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\r']) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {}
            // A control sequence ends with a character from `@` to `~`, and its introducer is one of them.
            '\u{1b}' => {
                if chars.next() == Some('[') {
                    let _ = chars.find(|it| ('@'..='~').contains(it));
                }
            }
            _ => clean.push(char),
        }
    }
    Cow::Owned(clean)
}

/// The pod, and the length of all prefixes: of `kubectl logs --prefix --timestamps` and of `mpirun --tag-output`.
fn prefix(text: &str) -> (&str, usize) {
    let mut pod = "";
    let mut rest = text;
    loop {
        if let Some((name, after)) = rest
            .strip_prefix("[pod/")
            .and_then(|it| it.split_once("] "))
        {
            pod = name.split('/').next().unwrap_or_default();
            rest = after;
        } else if let Some(after) = after_time(rest).or_else(|| after_tag(rest)) {
            rest = after;
        } else if let Some((name, after)) = stern_prefix(rest).filter(|_| pod.is_empty()) {
            pod = name;
            rest = after;
        } else {
            return (pod, text.len() - rest.len());
        }
    }
}

/// The pod and the text after the prefix of `stern`, `pod container line`, and of `stern --all-namespaces`, `namespace
/// pod container line`. It counts only before messages of NCCL and output of nccl-tests, because every text begins with
/// words.
///
/// Source: stern/stern `stern/stern.go` (templates `default` and `raw`), 2026-11-28.
fn stern_prefix(text: &str) -> Option<(&str, &str)> {
    let is_name = |word: &str| {
        let is_part =
            |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-' || it == b'.';
        !word.is_empty()
            && word.bytes().all(is_part)
            && word.bytes().any(|it| it.is_ascii_lowercase())
    };
    let (first, rest) = text.split_once(' ')?;
    let (second, rest) = rest.split_once(' ')?;
    if !is_name(first) || !is_name(second) {
        return None;
    }
    // With all namespaces, the first word is the namespace.
    match rest.split_once(' ') {
        Some((container, after)) if is_name(container) && begins_message(after) => {
            Some((second, after))
        }
        _ => begins_message(rest).then_some((first, rest)),
    }
}

/// Whether a line begins here, by the forms of NCCL, nccl-tests and `mpirun`.
fn begins_message(text: &str) -> bool {
    let text = text.trim_start();
    let word = text.split_ascii_whitespace().next().unwrap_or_default();
    let is_process = || {
        // `host:pid:tid [device] NCCL …`
        let mut parts = word.rsplitn(3, ':');
        let is_number = |it: Option<&str>| it.is_some_and(|it| it.parse::<u64>().is_ok());
        is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some()
    };
    text.starts_with('#')
        || after_tag(text).is_some()
        || word.parse::<u64>().is_ok()
        || ["NCCL version ", "NCCL INFO ", "NCCL WARN "]
            .iter()
            .any(|it| text.starts_with(it))
        || after_time(text).is_some()
        || is_process()
}

/// The text after a time such as `2026-11-28T18:50:05.123456789Z `.
fn after_time(text: &str) -> Option<&str> {
    let (time, rest) = text.split_once(' ')?;
    let bytes = time.as_bytes();
    let is_time = bytes.len() >= 20
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':';
    is_time.then_some(rest)
}

/// The text after a tag of `mpirun`, such as `[1,0]<stdout>:`.
fn after_tag(text: &str) -> Option<&str> {
    let (tag, rest) = text.strip_prefix('[')?.split_once('>')?;
    let (ranks, stream) = tag.split_once("]<")?;
    let is_rank = |it: char| it.is_ascii_digit() || it == ',';
    let is_tag = ranks.chars().all(is_rank) && matches!(stream, "stdout" | "stderr");
    is_tag.then(|| rest.strip_prefix(':').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn prefixes_and_colors_are_removed() {
        let line = read(
            7,
            "[pod/fabric-0-x2/main] 2026-11-28T18:50:05.123456789Z \
\u{1b}[32m[1,0]<stdout>:n:1:2 [0] NCCL INFO a\u{1b}[0m\r",
        );
        assert_eq!((line.number, &*line.pod), (7, "fabric-0-x2"));
        // The color precedes the tag, so the prefix continues after it.
        assert_eq!(line.text, "n:1:2 [0] NCCL INFO a");
    }

    #[test]
    fn the_prefix_of_stern_is_removed_before_messages_only() {
        for (text, pod, rest) in [
            (
                "fabric-0-x2 main n:1:2 [0] NCCL INFO a",
                "fabric-0-x2",
                "n:1:2 [0] NCCL INFO a",
            ),
            (
                "proof fabric-0-x2 main n:1:2 [0] NCCL INFO a",
                "fabric-0-x2",
                "n:1:2 [0] NCCL INFO a",
            ),
            (
                "fabric-0-x2 main # Out of bounds values : 0 OK",
                "fabric-0-x2",
                "# Out of bounds values : 0 OK",
            ),
            (
                "fabric-0-x2 main    1024   256 float",
                "fabric-0-x2",
                "   1024   256 float",
            ),
            (
                "fabric-0-x2 main 2026-11-28T18:50:05.123456789Z n:1:2 [0] NCCL INFO a",
                "fabric-0-x2",
                "n:1:2 [0] NCCL INFO a",
            ),
            (
                "the program ends with an error",
                "",
                "the program ends with an error",
            ),
            ("loading model [1/2]", "", "loading model [1/2]"),
            ("n:1:2 [0] NCCL INFO a", "", "n:1:2 [0] NCCL INFO a"),
        ] {
            let line = read(1, text);
            assert_eq!((&*line.pod, &*line.text), (pod, rest), "{text}");
        }
    }

    #[test]
    fn other_brackets_stay() {
        assert_eq!(read(1, "[0] 1 > 2").text, "[0] 1 > 2");
        assert_eq!(read(1, "[pod/half").text, "[pod/half");
        assert_eq!(read(1, "\u{1b}").text, "");
        assert_eq!(read(1, "\u{1b}[31").text, "");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let text = "ä".repeat(10_000);
        assert!(read(1, &text).text.len() <= super::MAX_LINE);
        assert_eq!(
            read(1, &text).evidence().text.chars().count(),
            super::MAX_SHOWN
        );
    }
}
