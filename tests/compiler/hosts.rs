//! The script for on-premises hosts stops on a host of another pool before any other check.
//!
//! Root, the host name and the machine are fakes. No pool has machines of the fake architecture. A script that
//! continues therefore stops at the next check and changes nothing on the machine that runs the test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Runs the script on a host with this name, asserts that it stops, and returns its output.
fn run_on_host(hostname: &str, flags: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let program = |name: &str, answer: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho {answer}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("id", "0");
    program("hostname", hostname);
    program("uname", "pdp11");
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/build/on-prem-dgx/on-prem-dgx");
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .arg(golden.join("cloud/host-dgx.sh"))
        .args(flags)
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn unknown_host_is_unchanged() {
    let stopped = run_on_host("laptop", &[]);
    assert!(
        stopped.starts_with("error: this host, laptop, is not in pool dgx"),
        "{stopped}"
    );
    assert!(
        stopped.contains("--any-host") && !stopped.contains("pdp11"),
        "{stopped}"
    );
}

#[test]
fn confirmed_hosts_continue() {
    let next = "this host is pdp11";
    for name in ["dgx-01", "dgx-02"] {
        let stopped = run_on_host(name, &[]);
        assert!(
            stopped.contains(next) && !stopped.contains("is not in pool"),
            "{name}: {stopped}"
        );
    }
    for flag in ["--any-host", "--dry-run"] {
        let stopped = run_on_host("laptop", &[flag]);
        let warned = stopped.starts_with("warning: this host, laptop, is not in pool dgx");
        assert!(warned && stopped.contains(next), "{flag}: {stopped}");
    }
}
