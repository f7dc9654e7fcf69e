//! The program as a node runs it, with its configuration in a file and its driver in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpuc_schema::node_config::NodeSharing;
use serde_json::{Value, json};

/// A temporary folder with a node's configuration. The folder also replaces `/dev`, `/proc` and `/sys`, so that no
/// result depends on the machine that runs the test.
pub(crate) struct Node {
    folder: tempfile::TempDir,
}

/// The exit code, output and log of the program.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) log: String,
}

impl Node {
    /// Creates a node with the driver in the folder `driver` and this sharing method.
    pub(crate) fn new(driver: &Path, sharing: &NodeSharing, resources: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = Self { folder };
        node.write_config(driver, sharing, resources);
        node
    }

    /// Replaces the configuration.
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

    /// The command that runs the program with these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
        command.args(args).arg("--config").arg(self.config());
        for option in ["--dev", "--proc", "--sys"] {
            command.arg(option).arg(self.folder());
        }
        command
    }

    /// Runs the program and waits for its exit.
    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).output().unwrap().into()
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
