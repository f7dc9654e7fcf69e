//! A driver's folder with the fake libnvidia-ml in it: a machine with the GPUs that a test wants, which changes when
//! the test says so. Its commands are in `tests/fake-nvml/src/lib.rs`.

#![allow(dead_code, reason = "not every test uses everything")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpuc_runtime::nvml::{NvmlError, Real};

/// Where the library lies below the driver's folder.
const LIBRARY: &str = "usr/lib64/libnvidia-ml.so.1";

/// A machine with a driver. Each has its own copy of the library, so that tests in one process do not meet.
pub(crate) struct FakeDriver {
    root: tempfile::TempDir,
    state: BTreeMap<String, String>,
    events: u64,
}

impl FakeDriver {
    /// A machine that lines like `gpus = 8` describe. Calls are written down.
    pub(crate) fn new(lines: &str) -> Self {
        let root = tempfile::tempdir().expect("there is room for a folder");
        let library = root.path().join(LIBRARY);
        let folder = library.parent().expect("it is in a folder");
        fs::create_dir_all(folder).expect("the folder is ours");
        // A copy and no link: the system loads a file once, whatever it is called.
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

    /// The folder below which the driver is installed.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The library's file.
    pub(crate) fn library(&self) -> PathBuf {
        self.root.path().join(LIBRARY)
    }

    /// The file that describes the machine, for programs that load the library from elsewhere (`GPUC_FAKE_NVML`).
    pub(crate) fn state_file(&self) -> PathBuf {
        self.root.path().join(format!("{LIBRARY}.state"))
    }

    /// The driver as the daemon opens it.
    pub(crate) fn open(&self) -> Result<Real, NvmlError> {
        Real::open(self.root())
    }

    /// From now on it is so.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.state.insert(key.to_owned(), value.to_owned());
        self.write();
    }

    /// From now on nothing is said of it.
    pub(crate) fn unset(&mut self, key: &str) {
        self.state.remove(key);
        self.write();
    }

    /// Something happens, once: `3 xid 79 7 0`.
    pub(crate) fn event(&mut self, text: &str) {
        self.events += 1;
        let key = format!("event.{}", self.events);
        self.set(&key, text);
    }

    /// An event is delivered once, and not read again.
    pub(crate) fn forget_events(&mut self) {
        self.state.retain(|key, _| !key.starts_with("event."));
        self.write();
    }

    /// What calls have changed is gone: MIG layouts do not survive this.
    pub(crate) fn reboot(&self) {
        // There is none where nothing was changed.
        let _ = fs::remove_file(self.changed_file());
    }

    /// What calls have changed this to, if they have: `gpu.0.compute_mode`.
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

    /// How often a function was called.
    pub(crate) fn calls(&self, function: &str) -> usize {
        let calls = fs::read_to_string(self.calls_file()).unwrap_or_default();
        calls.lines().filter(|line| *line == function).count()
    }

    /// How often any function was called.
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
        fs::write(&new, text).expect("the folder is ours");
        fs::rename(&new, self.state_file()).expect("the folder is ours");
    }
}

/// The library that cargo built with the tests: next to the test's own program, because it is a dependency of it.
pub(crate) fn fake_nvml() -> PathBuf {
    let program = std::env::current_exe().expect("a test knows its program");
    let folders = program.ancestors().skip(1).take(2);
    let mut found = folders
        .flat_map(|folder| [folder.to_owned(), folder.join("deps")])
        .map(|folder| folder.join("libgpuc_fake_nvml.so"));
    found
        .find(|file| file.exists())
        .expect("cargo builds gpuc-fake-nvml, a dependency of the tests, as a library to load")
}
