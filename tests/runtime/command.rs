//! The program as a node runs it: a configuration in a file, a driver in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpuc_schema::node_config::NodeSharing;
use serde_json::{Value, json};

/// A node's configuration in a folder of its own, which is also where the kernel would show the machine: nothing there
/// depends on the machine that the test runs on.
pub(crate) struct Node {
    folder: tempfile::TempDir,
}

/// How the program ended, and what it said.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) log: String,
}

impl Node {
    /// A node whose driver is below `driver`, and whose GPUs are shared so.
    pub(crate) fn new(driver: &Path, sharing: &NodeSharing, resources: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = Self { folder };
        node.write_config(driver, sharing, resources);
        node
    }

    /// Another configuration from now on.
    pub(crate) fn write_config(&self, driver: &Path, sharing: &NodeSharing, resources: &Value) {
        let config = json!({
            "apiVersion": "node.gpuc.dev/v1alpha1",
            "kind": "NodeConfig",
            "cluster": "demo",
            "pool": "train",
            "expected": {"model": "h100-sxm5-80gb", "count": 8},
            "driver": {"hostRoot": "/", "containerRoot": driver},
            "devices": "environmentVariable",
            "sharing": sharing,
            "resources": resources,
        });
        fs::write(self.config(), config.to_string()).unwrap();
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn config(&self) -> PathBuf {
        self.folder().join("node.json")
    }

    /// The program, about to do this.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
        command.args(words).arg("--config").arg(self.config());
        for kernel in ["--dev", "--proc", "--sys"] {
            command.arg(kernel).arg(self.folder());
        }
        command
    }

    /// Runs the program and waits for its exit.
    pub(crate) fn run(&self, words: &[&str]) -> CommandOutput {
        self.command(words).output().unwrap().into()
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            log: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
