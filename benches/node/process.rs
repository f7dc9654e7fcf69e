//! What Linux says of a process: proc(5).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A process that runs.
pub(crate) struct Process {
    folder: PathBuf,
}

/// How much memory a process has, in KiB.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    /// What is in memory of it, shared or not.
    pub(crate) resident: u64,
    /// The same, with what is shared divided by those who share it.
    pub(crate) proportional: u64,
}

impl Process {
    pub(crate) fn new(number: u32) -> Self {
        let folder = PathBuf::from(format!("/proc/{number}"));
        Self { folder }
    }

    /// The processor time of all threads that there are now.
    pub(crate) fn cpu(&self) -> Duration {
        let times = self.thread_values("schedstat", |text| {
            text.split(' ').next().and_then(|word| word.parse().ok())
        });
        Duration::from_nanos(times.values().sum())
    }

    /// How often each thread gave the processor away: each time, something woke it before.
    pub(crate) fn voluntary_switches(&self) -> BTreeMap<String, u64> {
        self.thread_values("status", |text| {
            parse_value(text, "voluntary_ctxt_switches:")
        })
    }

    /// The names of the threads.
    pub(crate) fn threads(&self) -> BTreeMap<String, u64> {
        self.thread_values("stat", |_| Some(1))
    }

    pub(crate) fn memory(&self) -> Memory {
        let text = fs::read_to_string(self.folder.join("smaps_rollup")).unwrap();
        Memory {
            resident: parse_value(&text, "Rss:").unwrap(),
            proportional: parse_value(&text, "Pss:").unwrap(),
        }
    }

    fn thread_values(
        &self,
        file: &str,
        read: impl Fn(&str) -> Option<u64>,
    ) -> BTreeMap<String, u64> {
        let threads = fs::read_dir(self.folder.join("task")).unwrap();
        let said = threads.filter_map(|thread| {
            let thread = thread.ok()?;
            // A thread may end in between.
            let text = fs::read_to_string(thread.path().join(file)).ok()?;
            Some((thread.file_name().into_string().ok()?, read(&text)?))
        });
        said.collect()
    }
}

/// The number behind a key at the start of a line.
fn parse_value(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}
