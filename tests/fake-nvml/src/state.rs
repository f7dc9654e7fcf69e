//! The state file, and the file with the changes by calls.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gpuc_schema::gpu::{GpuModel, MODELS};

/// The contents of the files.
#[derive(Default)]
pub(crate) struct State {
    keys: BTreeMap<String, String>,
}

/// A GPU in the files.
#[derive(Clone, Copy)]
pub(crate) struct Gpu<'s> {
    pub(crate) state: &'s State,
    pub(crate) index: u32,
}

/// The last state, and the metadata of the files when it was read.
static LAST: Mutex<Option<(FileStamps, Arc<State>)>> = Mutex::new(None);

/// The inode, size and time of both files, which show whether a file was replaced.
type FileStamps = [Option<(u64, u64, i64, i64)>; 2];

/// Returns the current contents of the files.
pub(crate) fn current() -> Arc<State> {
    let files = [file().to_owned(), changed_file()];
    let stamps = files.each_ref().map(|file| {
        let metadata = std::fs::metadata(file).ok()?;
        Some((
            metadata.ino(),
            metadata.size(),
            metadata.mtime(),
            metadata.mtime_nsec(),
        ))
    });
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, state)) = &*last
        && *known == stamps
    {
        return Arc::clone(state);
    }
    let mut keys = BTreeMap::new();
    for file in files {
        read_into(&mut keys, &file);
    }
    let state = Arc::new(State { keys });
    *last = Some((stamps, Arc::clone(&state)));
    state
}

/// Stores a change by a call, which other processes see.
pub(crate) fn store_change(key: &str, value: &str) {
    static CHANGING: Mutex<()> = Mutex::new(());
    let _guard = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = changed_file();
    let mut keys = BTreeMap::new();
    read_into(&mut keys, &file);
    keys.insert(key.to_owned(), value.to_owned());
    let line = |(key, value): (&String, &String)| format!("{key} = {value}\n");
    let text: String = keys.iter().map(line).collect();
    let new = file.with_extension("new");
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &file));
    written.expect("the folder of the state file is writable");
}

impl State {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.keys.get(key).map(String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        number(self.text(key)?)
    }

    pub(crate) fn count(&self) -> u32 {
        let count = self.number("gpus").unwrap_or(0);
        u32::try_from(count).unwrap_or(0).min(16)
    }

    pub(crate) fn gpu(&self, index: u32) -> Option<Gpu<'_>> {
        (index < self.count()).then_some(Gpu { state: self, index })
    }

    /// Returns the events, by number.
    pub(crate) fn events(&self) -> BTreeMap<u64, &str> {
        let events = self.keys.range("event.".to_owned().."event/".to_owned());
        events
            .filter_map(|(key, value)| Some((number(key.strip_prefix("event.")?)?, value.as_str())))
            .collect()
    }
}

impl<'s> Gpu<'s> {
    /// Returns a value of this GPU, or of all GPUs.
    pub(crate) fn text(self, key: &str) -> Option<&'s str> {
        let all = || self.state.text(&format!("gpu.{key}"));
        self.own_text(key).or_else(all)
    }

    /// Returns a value of this GPU only.
    pub(crate) fn own_text(self, key: &str) -> Option<&'s str> {
        self.state.text(&format!("gpu.{}.{key}", self.index))
    }

    pub(crate) fn number(self, key: &str) -> Option<u64> {
        number(self.text(key)?)
    }

    pub(crate) fn change(self, key: &str, value: &str) {
        store_change(&format!("gpu.{}.{key}", self.index), value);
    }

    /// Returns the GPU model in gpuc's catalog.
    pub(crate) fn model(self) -> Option<&'static GpuModel> {
        let key = self.text("model")?;
        MODELS.iter().copied().find(|model| model.key == key)
    }
}

/// Parses a number, decimal or `0x…`.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn read_into(keys: &mut BTreeMap<String, String>, file: &Path) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    for (key, value) in lines.filter_map(|line| line.split_once('=')) {
        keys.insert(key.trim().to_owned(), value.trim().to_owned());
    }
}

fn changed_file() -> PathBuf {
    let mut name = file().as_os_str().to_owned();
    name.push(".changed");
    PathBuf::from(name)
}

/// Returns the path of the state file.
fn file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| match std::env::var_os("GPUC_FAKE_NVML") {
        Some(file) => PathBuf::from(file),
        None => PathBuf::from(format!("{}.state", own_path())),
    })
}

/// Returns the path of this library from the memory map of the process.
fn own_path() -> String {
    let here = (own_path as fn() -> String) as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let contains_code = |line: &&str| {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let edge = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(start, end)| (edge(start)..edge(end)).contains(&here))
    };
    let line = maps.lines().find(contains_code).unwrap_or_default();
    line.find('/')
        .map_or_else(String::new, |at| line[at..].to_owned())
}
