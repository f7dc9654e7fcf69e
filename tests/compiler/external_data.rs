//! Dependencies outside the repository: folders and programs that environment variables name.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::repository;

/// Charts, CRD schemas and Kubernetes' own schema.
pub(crate) const UPSTREAM: &str = "GPUC_UPSTREAM";

/// Tables of facts about clouds and GPU models.
pub(crate) const FACTS: &str = "GPUC_FACTS";

/// A folder with programs that run cloud CLIs without a network.
pub(crate) const CLOUD_OFFLINE: &str = "GPUC_CLOUD_OFFLINE";

/// A Python with the packages that `.ci/setup-python` installs.
pub(crate) const PYTHON: &str = "GPUC_PYTHON";

/// The value of a variable. Panics if it is not set, because a selected test must not pass without its dependencies.
pub(crate) fn path(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    let value = value.unwrap_or_else(|| panic!("{variable} is not set: see tests/README.md"));
    let path = PathBuf::from(value);
    assert!(
        path.exists(),
        "{variable} names {}, which does not exist",
        path.display()
    );
    path
}

/// Reads a file below the folder that the variable names.
pub(crate) fn text(variable: &str, file: &str) -> String {
    let path = path(variable).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a JSON file below the folder that the variable names.
pub(crate) fn json(variable: &str, file: &str) -> Value {
    serde_json::from_str(&text(variable, file)).unwrap()
}

/// Runs a script in `tests/compiler/python/` with a JSON value as input, and returns its JSON output. One run handles a
/// whole batch, because the CLIs behind it take seconds to start.
pub(crate) fn python(interpreter: &str, script: &str, input: &Value) -> Value {
    let script = repository().join("tests/compiler/python").join(script);
    let mut child = Command::new(interpreter)
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{interpreter}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = serde_json::to_vec(input).unwrap();
    // Writing and reading must be concurrent, because each blocks when its pipe is full.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let written = writer.join().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {}\n{errors}",
        script.display(),
        output.status
    );
    written.unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}\n{errors}", script.display()))
}
