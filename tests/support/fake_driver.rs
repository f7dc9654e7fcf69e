//! A folder with the fake libnvidia-ml. A test describes the machine and can change it. `tests/fake-nvml/src/lib.rs`
//! lists the keys.

#![allow(dead_code, reason = "not every binary uses every function")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpuc_runtime::nvml::{NvmlError, Real};

/// The path of the library below the driver's folder.
const LIBRARY: &str = "usr/lib64/libnvidia-ml.so.1";

/// A machine with a driver. Each has its own copy of the library, so that tests in one process are independent.
pub(crate) struct FakeDriver {
    root: tempfile::TempDir,
    state: BTreeMap<String, String>,
    events: u64,
}

impl FakeDriver {
    /// Creates a machine from lines such as `gpus = 8`. The library logs its calls.
    pub(crate) fn new(lines: &str) -> Self {
        let root = tempfile::tempdir().expect("the folder is created");
        let library = root.path().join(LIBRARY);
        let folder = library.parent().expect("the path has a parent");
        fs::create_dir_all(folder).expect("the folder is writable");
        // A copy, not a link: the loader loads the same file only once per process.
        fs::copy(fake_nvml(), &library).expect("the library was built with the tests");
        let mut driver = Self {
            root,
            state: BTreeMap::new(),
            events: 0,
        };
        let calls = driver.calls_file().display().to_string();
        driver.state.insert("calls".to_owned(), calls);
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once('=').expect("a line is `key = value`");
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            driver.state.insert(key, value);
        }
        driver.write();
        driver
    }

    /// The root folder of the driver.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The library's file.
    pub(crate) fn library(&self) -> PathBuf {
        self.root.path().join(LIBRARY)
    }

    /// The state file, for programs that load the library from another path (`GPUC_FAKE_NVML`).
    pub(crate) fn state_file(&self) -> PathBuf {
        self.root.path().join(format!("{LIBRARY}.state"))
    }

    /// Opens the driver as the daemon does.
    pub(crate) fn open(&self) -> Result<Real, NvmlError> {
        Real::open(self.root())
    }

    /// Sets a key of the machine.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.state.insert(key.to_owned(), value.to_owned());
        self.write();
    }

    /// Removes a key of the machine.
    pub(crate) fn unset(&mut self, key: &str) {
        self.state.remove(key);
        self.write();
    }

    /// Adds an event, such as `3 xid 79 7 0`.
    pub(crate) fn event(&mut self, text: &str) {
        self.events += 1;
        let key = format!("event.{}", self.events);
        self.set(&key, text);
    }

    /// Removes delivered events from the state file.
    pub(crate) fn clear_events(&mut self) {
        self.state.retain(|key, _| !key.starts_with("event."));
        self.write();
    }

    /// Discards all changes by calls, such as MIG layouts.
    pub(crate) fn reboot(&self) {
        // Without changes, the file does not exist.
        let _ = fs::remove_file(self.changed_file());
    }

    /// The value that a call has set for a key, such as `gpu.0.compute_mode`.
    pub(crate) fn changed(&self, key: &str) -> Option<String> {
        let text = fs::read_to_string(self.changed_file()).ok()?;
        let mut lines = text.lines().filter_map(|line| line.split_once(" = "));
        let value = lines.find(|(changed, _)| *changed == key)?.1;
        Some(value.to_owned())
    }

    fn changed_file(&self) -> PathBuf {
        let mut changed = self.state_file().into_os_string();
        changed.push(".changed");
        changed.into()
    }

    /// The number of calls of a function.
    pub(crate) fn calls(&self, function: &str) -> usize {
        let calls = fs::read_to_string(self.calls_file()).unwrap_or_default();
        calls.lines().filter(|line| *line == function).count()
    }

    /// The number of calls of all functions.
    pub(crate) fn all_calls(&self) -> usize {
        let calls = fs::read_to_string(self.calls_file()).unwrap_or_default();
        calls.lines().count()
    }

    fn calls_file(&self) -> PathBuf {
        self.root.path().join("calls")
    }

    fn write(&self) {
        let line = |(key, value): (&String, &String)| format!("{key} = {value}\n");
        let text: String = self.state.iter().map(line).collect();
        let new = self.root.path().join("new");
        fs::write(&new, text).expect("the folder is writable");
        fs::rename(&new, self.state_file()).expect("the folder is writable");
    }
}

/// The path of the library, which cargo builds next to the test's program as its dependency.
pub(crate) fn fake_nvml() -> PathBuf {
    let program = std::env::current_exe().expect("the test has a program");
    let folders = program.ancestors().skip(1).take(2);
    let mut found = folders
        .flat_map(|folder| [folder.to_owned(), folder.join("deps")])
        .map(|folder| folder.join("libgpuc_fake_nvml.so"));
    found
        .find(|file| file.exists())
        .expect("cargo builds gpuc-fake-nvml as a dependency of the tests")
}
