//! The command-line interface: arguments, files, output, exit codes.

mod commands;
mod concurrent;
mod doctor;
mod environment;
mod expand;
mod findings;
mod fleets;
mod graphs;
mod import;
mod inputs;
mod interruption;
mod manifests;
mod orphans;
mod prove;
mod trees;
mod why;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A small cluster that builds quickly, with nested folders.
pub(crate) const GOOD: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
"#;

/// GOOD without its GPU pool.
pub(crate) fn without_gpus() -> String {
    let lines = GOOD.lines().filter(|line| !line.contains("name: gpu,"));
    let lines: Vec<_> = lines.filter(|line| !line.starts_with("stack")).collect();
    lines.join("\n") + "\n"
}

/// The result of a run of gpuc.
pub(crate) struct CliResult {
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl CliResult {
    fn from_output(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        let Self { stdout, stderr, .. } = &self;
        assert_eq!(self.code, code, "stdout:\n{stdout}\nstderr:\n{stderr}");
        self
    }

    /// Asserts that gpuc exited with 0 and printed nothing.
    #[track_caller]
    pub(crate) fn expect_silent_success(self) {
        let result = self.expect_code(0);
        assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("", ""));
    }
}

/// A folder in which gpuc runs.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub(crate) fn empty() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    /// A folder with one file, `gpu-cluster.yaml`.
    pub(crate) fn with(text: &str) -> Self {
        let place = Self::empty();
        place.write("gpu-cluster.yaml", text);
        place
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The command, with the workspace as its working directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = gpuc();
        command.args(args).current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> CliResult {
        CliResult::from_output(self.command(args).output().unwrap())
    }

    /// Builds, and asserts success.
    #[track_caller]
    pub(crate) fn build(&self) {
        self.run(&["build", "-q"]).expect_silent_success();
    }

    /// The files below a folder.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<String, String> {
        crate::support::files_below(&self.path(folder))
    }
}

/// The command, without environment variables that change its output.
pub(crate) fn gpuc() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc"));
    for name in [
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "FORCE_COLOR",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(name);
    }
    let (name, value) = crate::support::SOURCE_DATE_EPOCH;
    command.env(name, value);
    command
}

/// The files of a clean build.
pub(crate) fn clean_build(text: &str) -> BTreeMap<String, String> {
    let place = Workspace::with(text);
    place.build();
    place.files("clusters")
}

/// The first file of a tree other than its lock.
pub(crate) fn first_file(place: &Workspace) -> String {
    let files = place.files("clusters/demo");
    let manifest = files.keys().find(|path| path.starts_with("manifests/"));
    manifest.unwrap().clone()
}

/// The modification times of the files below a folder.
pub(crate) fn modification_times(folder: &Path) -> BTreeMap<String, std::time::SystemTime> {
    let files = crate::support::files_below(folder);
    let time = |path: &String| fs::metadata(folder.join(path)).unwrap().modified().unwrap();
    files
        .keys()
        .map(|path| (path.clone(), time(path)))
        .collect()
}
