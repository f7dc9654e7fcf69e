//! Messages of NCCL in a line.

use super::RankKey;

/// A message of NCCL.
pub(super) struct Message<'t> {
    /// Whether it is a warning.
    pub(super) is_warning: bool,
    /// The text before it, which contains the process.
    before: &'t str,
    /// The text.
    pub(super) text: &'t str,
}

const INFO: &str = "NCCL INFO ";
const WARN: &str = "NCCL WARN ";

/// The messages in a line: more than one if the lines of several processes are interleaved.
pub(super) fn messages(line: &str) -> Vec<Message<'_>> {
    let mut found: Vec<Message<'_>> = Vec::new();
    let mut start = 0;
    while let Some(offset) = line[start..].find("NCCL ") {
        let at = start + offset;
        let rest = &line[at..];
        let is_warning = rest.starts_with(WARN);
        start = at + INFO.len().min(rest.len());
        if !is_warning && !rest.starts_with(INFO) {
            start = at + "NCCL ".len();
            continue;
        }
        let before_start = found.last().map_or(0, |last| line.len() - last.text.len());
        found.push(Message {
            is_warning,
            before: &line[before_start..at],
            text: &line[start..],
        });
    }
    // The text of a message ends where the process of the next one begins.
    for index in 1..found.len() {
        let next = found[index].before;
        let end = process(next).map_or(next.len(), |process| process.start);
        let length = end.min(found[index - 1].text.len());
        found[index - 1].text = &found[index - 1].text[..length];
    }
    found
}

impl Message<'_> {
    /// The process and its device, if the line contains them.
    pub(super) fn key(&self) -> Option<RankKey> {
        let process = process(self.before)?;
        Some(RankKey {
            host: process.host.to_owned(),
            pid: process.pid,
            device: process.device,
        })
    }
}

/// A process in a text.
struct Process<'t> {
    start: usize,
    host: &'t str,
    pid: u64,
    device: u32,
}

/// The last process in a text: `host:pid:tid [device]`.
fn process(text: &str) -> Option<Process<'_>> {
    // A warning has the signature of its function after the process, which can contain brackets.
    const MAX_BRACKETS: usize = 8;
    let brackets = text.rmatch_indices(" [").take(MAX_BRACKETS);
    brackets.map(|(at, _)| at).find_map(|at| {
        let (device, _) = text[at + " [".len()..].split_once(']')?;
        let (rest, thread) = text[..at].rsplit_once(':')?;
        let (before, pid) = rest.rsplit_once(':')?;
        let is_host = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
        let start = before.rfind(|it| !is_host(it)).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let host = &before[start..];
        let _thread: u64 = thread.parse().ok()?;
        (!host.is_empty()).then_some(Process {
            start,
            host,
            pid: pid.parse().ok()?,
            device: device.trim().parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::messages;

    type Read = (bool, Option<(String, u32)>, String);

    fn read(line: &str) -> Vec<Read> {
        let found = messages(line).into_iter();
        found
            .map(|it| {
                let key = it.key().map(|key| (key.host, key.device));
                (it.is_warning, key, it.text.to_owned())
            })
            .collect()
    }

    #[test]
    fn the_process_precedes_the_message() {
        let host = |name: &str, device| Some((name.to_owned(), device));
        assert_eq!(
            read("a-0:12:34 [1] NCCL INFO Using network IB"),
            [(false, host("a-0", 1), "Using network IB".to_owned())]
        );
        assert_eq!(
            read("[2026-01-01 12:08:32] a-0:12:34 [1] int f(x*, uint16_t):46 NCCL WARN NET/OFI x"),
            [(true, host("a-0", 1), "NET/OFI x".to_owned())]
        );
        assert_eq!(
            read("NCCL INFO Using network IB"),
            [(false, None, "Using network IB".to_owned())]
        );
        assert_eq!(read("NCCL version 2.27.7+cuda12.8"), []);
    }

    #[test]
    fn interleaved_messages_are_separated() {
        assert_eq!(
            read(
                "a-0:1:2 [0] NCCL INFO Using network IBb-1:3:4 [1] NCCL INFO Using network Socket"
            ),
            [
                (
                    false,
                    Some(("a-0".to_owned(), 0)),
                    "Using network ".to_owned()
                ),
                (
                    false,
                    Some(("IBb-1".to_owned(), 1)),
                    "Using network Socket".to_owned()
                ),
            ]
        );
    }
}
